// SPDX-License-Identifier: MIT
//
// libggml-mrrope.so: a ggml backend that takes the rotations of a graph, and nothing else.
//
// llama.cpp puts devices of type ACCEL before the processor when it makes a context, and ggml's scheduler gives them
// what they support, if they share the processor's memory: no tensor is copied for us. Each rotation becomes a piece of
// the graph of its own (a "split"), which costs the scheduler a few microseconds per layer (docs/plugin.md).
//
// The structures are those of third_party/ggml/ggml-backend-impl.h. One registration with one device per process; a
// backend per context. Nothing throws across this border.
#define GGML_BACKEND_DL
#define GGML_BACKEND_BUILD
#define GGML_BACKEND_SHARED
#include <ggml-backend-impl.h>
#include <ggml.h>

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "nodes/layer.h"
#include "nodes/plan_fit.h"
#include "nodes/rotation.h"
#include "plugin/abi.h"
#include "plugin/order.h"
#include "plugin/rotate_node.h"
#include "plugin/tables.h"

namespace mrrope::plugin {

namespace {

using nodes::NodePlace;
using nodes::place_of;

constexpr const char* kName = "MRROPE";

// ---- A context's backend --------------------------------------------------------------------------------------------

struct Backend {
  Backend(ggml_backend_dev_t device, Order& order_);

  ggml_backend interface = {};
  Order& order;
  Tables tables;
  int n_threads = GGML_DEFAULT_N_THREADS;
};

Backend& backend_of(ggml_backend_t backend) { return *static_cast<Backend*>(backend->context); }

ggml_status rotate(Backend& backend, const ggml_tensor& node) {
  Order& order = backend.order;
  const NodePlace place = place_of(node);
  if (order.stand() == Stand::plan && place.layer < 0) {
    order.refuse({ErrorCode::unsupported, "the graph does not tell which layer a rotation belongs to", ""});
  }
  const Stand stand = order.stand();
  if (stand == Stand::failed) return GGML_STATUS_FAILED;
  const Result<const NodeTable*> table = backend.tables.table_for(node, place, stand == Stand::plan);
  if (!table) {
    order.fail(table.error());
    return GGML_STATUS_FAILED;
  }
  if (stand != Stand::aside) order.report();
  rotate_node(node, **table, backend.n_threads);
  return GGML_STATUS_SUCCESS;
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) try {
  const int count = ggml_graph_n_nodes(graph);
  for (int i = 0; i < count; ++i) {
    const ggml_tensor& node = *ggml_graph_node(graph, i);
    // Views come along with what they are views of
    if ((node.flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || ggml_is_empty(&node)) continue;
    if (node.op != GGML_OP_ROPE && node.op != GGML_OP_ROPE_BACK) continue;
    if (const ggml_status status = rotate(backend_of(backend), node); status != GGML_STATUS_SUCCESS) return status;
  }
  return GGML_STATUS_SUCCESS;
} catch (const std::exception&) {  // no memory for a table
  return GGML_STATUS_ALLOC_FAILED;
}

Backend::Backend(ggml_backend_dev_t device, Order& order_)
    : order(order_), tables(order_.has_plan() ? &order_.plan() : nullptr) {
  static ggml_guid guid = {0x6d, 0x72, 0x72, 0x6f, 0x70, 0x65, 0x2d, 0x70,
                           0x6c, 0x75, 0x67, 0x2d, 0x69, 0x6e, 0x00, 0x01};
  interface.guid = &guid;
  interface.iface.get_name = [](ggml_backend_t) { return kName; };
  interface.iface.free = [](ggml_backend_t backend) { delete &backend_of(backend); };
  interface.iface.graph_compute = compute;
  interface.device = device;
  interface.context = this;
}

void set_n_threads(ggml_backend_t backend, int n_threads) { backend_of(backend).n_threads = n_threads; }

// ---- The device -----------------------------------------------------------------------------------------------------

Order& order_of(ggml_backend_dev_t device) { return *static_cast<Order*>(device->context); }

// A graph that is only measured has no values yet; the one that is computed is asked about again.
nodes::FileFactors factors_of(const ggml_tensor& node) {
  const ggml_tensor* factors = node.src[2];
  if (factors == nullptr) return {};
  if (factors->data == nullptr || factors->buffer == nullptr || !ggml_backend_buffer_is_host(factors->buffer)) {
    return {.present = true};
  }
  const auto pairs = static_cast<std::size_t>(node.op_params[nodes::kRopeDims] / 2);
  return {.present = true, .values = {static_cast<const float*>(factors->data), pairs}};
}

Result<void> check_fit(const Plan& plan, int layer, const ggml_tensor& node) {
  const nodes::LayerShape shape{layer, node.op_params[nodes::kRopeDims], nodes::float_param(node, nodes::kRopeBase)};
  if (const auto ok = nodes::check_fit(plan, shape); !ok) return ok.error();
  return nodes::check_factors(plan, layer, factors_of(node));
}

// Asked for every node while a context is made, and again for every new graph. What does not fit is found here, before
// the first layer is computed.
bool supports_op(ggml_backend_dev_t device, const ggml_tensor* node) try {
  if (node->op != GGML_OP_ROPE && node->op != GGML_OP_ROPE_BACK) return false;
  Order& order = order_of(device);
  if (order.stand() == Stand::aside) return false;
  if (order.stand() == Stand::failed) return true;  // to fail it
  if (nodes::rope_mode(*node) == GGML_ROPE_TYPE_VISION)
    return false;  // a tower of its own, whatever its layers are called
  const char* reason = obstacle(*node);
  const NodePlace place = place_of(*node);
  if (place.layer < 0) return reason == nullptr;  // also what llama.cpp asks about while it loads weights
  const bool by_plan = order.stand() == Stand::plan && nodes::extended_group_of(order.plan().spec, place.layer) >= 0;
  if (by_plan) {
    Result<void> fits;
    if (reason != nullptr) {
      fits = Error{ErrorCode::unsupported, "cannot take this rotation, because " + std::string(reason),
                   "layer " + std::to_string(place.layer)};
    } else {
      fits = check_fit(order.plan(), place.layer, *node);
    }
    if (!fits) {
      order.refuse(fits.error());
      return order.stand() == Stand::failed;
    }
  }
  if (reason == nullptr) order.note_layer(place.layer, by_plan);
  return reason == nullptr;
} catch (const std::exception&) {
  return false;
}

// A context that has GPUs uses their memory between the layers, and we would get some rotations and not others.
const char* name_of_gpu() {
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    const auto type = ggml_backend_dev_type(device);
    if (type != GGML_BACKEND_DEVICE_TYPE_CPU && type != GGML_BACKEND_DEVICE_TYPE_ACCEL) {
      return ggml_backend_dev_name(device);
    }
  }
  return nullptr;
}

// nullptr ends the making of the context: llama.cpp says "failed to initialize MRROPE backend", and programs stop.
ggml_backend_t init_backend(ggml_backend_dev_t device, const char* /*params*/) try {
  Order& order = order_of(device);
  if (const char* gpu = name_of_gpu(); gpu != nullptr && order.stand() != Stand::failed) {
    order.stand_aside(std::string(gpu) +
                      " may compute here, and the plug-in knows the processor only: it does nothing.");
  }
  if (order.stand() == Stand::failed) return nullptr;
  return &(new Backend(device, order))->interface;
} catch (const std::exception&) {
  return nullptr;
}

void get_props(ggml_backend_dev_t device, ggml_backend_dev_props* props) {
  *props = {};
  props->name = device->iface.get_name(device);
  props->description = device->iface.get_description(device);
  props->type = device->iface.get_type(device);
}

ggml_backend_device make_device(ggml_backend_reg_t registration, Order& order) {
  ggml_backend_device device = {};
  device.iface.get_name = [](ggml_backend_dev_t) { return kName; };
  device.iface.get_description = [](ggml_backend_dev_t) { return "mrrope: rotary embedding by a plan, exact angles"; };
  device.iface.get_memory = [](ggml_backend_dev_t, std::size_t* free, std::size_t* total) { *free = *total = 0; };
  device.iface.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; };
  device.iface.get_props = get_props;
  device.iface.init_backend = init_backend;
  device.iface.get_buffer_type = [](ggml_backend_dev_t) { return ggml_backend_cpu_buffer_type(); };
  device.iface.supports_op = supports_op;
  device.iface.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) {
    return ggml_backend_buft_is_host(type);
  };
  device.reg = registration;
  device.context = &order;
  return device;
}

// ---- The registration -----------------------------------------------------------------------------------------------

struct Plugin {
  Plugin();

  Order order;
  ggml_backend_reg registration = {};
  ggml_backend_device device = make_device(&registration, order);
};

Plugin::Plugin() {
  registration.api_version = GGML_BACKEND_API_VERSION;
  registration.iface.get_name = [](ggml_backend_reg_t) { return kName; };
  registration.iface.get_device_count = [](ggml_backend_reg_t) { return std::size_t{1}; };
  registration.iface.get_device = [](ggml_backend_reg_t self, std::size_t) {
    return &static_cast<Plugin*>(self->context)->device;
  };
  registration.iface.get_proc_address = [](ggml_backend_reg_t, const char* name) -> void* {
    return std::string_view(name) == "ggml_backend_set_n_threads" ? reinterpret_cast<void*>(set_n_threads) : nullptr;
  };
  registration.context = this;
}

// Programs may load us more than once; they get the same registration. It goes when the library is unloaded.
ggml_backend_reg_t registration() try {
  static Plugin plugin;
  if (const auto ok = check_ggml(); !ok) {
    plugin.order.refuse(ok.error());
    // Whoever asked for a plan gets a device that fails; nobody else notices anything but the message
    if (plugin.order.stand() != Stand::failed) return nullptr;
  }
  return &plugin.registration;
} catch (const std::exception&) {
  return nullptr;
}

// Of versions of one backend in llama.cpp's folder the best is taken; there is one of us.
int score() { return 1; }

}  // namespace

}  // namespace mrrope::plugin

GGML_BACKEND_DL_IMPL(mrrope::plugin::registration)
GGML_BACKEND_DL_SCORE_IMPL(mrrope::plugin::score)
