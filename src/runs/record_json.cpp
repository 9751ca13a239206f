// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "mrrope/records.h"
#include "mrrope/version.h"
#include "runs/record_scan.h"

namespace mrrope::eval {

namespace {

using base::Json;
using base::ObjectReader;

constexpr std::int64_t kMost = std::int64_t{1} << 53;  // whole in a double

template <class T, class Read>
Result<T> read_object(std::string_view text, Read read) {
  const Result<Json> json = base::parse_json(text);
  if (!json) return json.error();
  try {
    ObjectReader object(*json, "");
    T value = read(object);
    object.finish();
    return value;
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

// "mrrope.record/2" is not damage, but the work of a later mrrope.
void expect_schema(ObjectReader& object, std::string_view schema) {
  const std::string found = object.text("schema");
  if (found == schema) return;
  const bool ours = found.starts_with(schema.substr(0, schema.find('/') + 1));
  object.reject(
      "schema", ErrorCode::unsupported,
      fmt::format("expected {}, found {}{}", schema, base::printable(found),
                  ours ? ": another version of mrrope wrote it, and reads it (this is " MRROPE_VERSION ")" : ""));
}

std::vector<std::string> texts(ObjectReader& object, std::string_view key) {
  std::vector<std::string> out;
  for (const Json& value : object.array(key)) {
    if (!value.is_string()) object.reject(key, ErrorCode::malformed, "expected texts");
    out.push_back(value.get<std::string>());
  }
  return out;
}

Json to_json(const Answer& a) {
  Json json{{"length", a.length},
            {"index", a.index},
            {"depth", a.depth},
            {"prompt_tokens", a.prompt_tokens},
            {"new_tokens", a.new_tokens},
            {"text", a.text},
            {"finish", a.finish},
            {"references", a.references},
            {"score", a.score}};
  if (a.asked_depth >= 0) json["asked_depth"] = a.asked_depth;
  if (!a.labels.empty()) json["labels"] = a.labels;
  if (!a.others.empty()) json["others"] = a.others;
  if (a.right) json["right"] = {{"nll", a.right->nll}, {"tokens", a.right->tokens}};
  if (!a.rotation.empty()) json["rotation"] = a.rotation;
  return json;
}

Answer read_answer(ObjectReader in) {
  Answer a;
  a.length = in.integer("length", 0, kMost);
  a.index = in.integer("index", 0, kMost);
  a.depth = in.number("depth");
  if (in.has("asked_depth")) a.asked_depth = in.number("asked_depth");
  a.prompt_tokens = in.integer("prompt_tokens", 0, kMost);
  a.new_tokens = in.integer("new_tokens", 0, kMost);
  a.text = in.text("text");
  a.finish = in.text("finish");
  a.references = texts(in, "references");
  a.score = in.number("score");
  if (a.score < 0 || a.score > 1) in.reject("score", ErrorCode::invalid_argument, "expected a number from 0 to 1");
  if (in.has("labels")) {
    ObjectReader labels = in.object("labels");
    for (const auto& [name, value] : in.any("labels").items()) a.labels[name] = labels.text(name);
  }
  if (in.has("others")) {
    ObjectReader others = in.object("others");
    for (const auto& [name, value] : in.any("others").items()) a.others[name] = others.number(name);
  }
  if (in.has("right")) {
    ObjectReader right = in.object("right");
    a.right = RightAnswer{right.number("nll"), right.integer("tokens", 1, kMost)};
    right.finish();
  }
  if (in.has("rotation")) a.rotation = in.text("rotation");
  in.finish();
  return a;
}

// These are members of the record itself.
void write_reading(const Reading& record, Json& json) {
  json["points"] = Json::array();
  for (const Reading::Point& p : record.points) {
    json["points"].push_back(Json{{"length", p.length}, {"predicted", p.predicted}, {"nll", p.nll}});
  }
  json["bucket"] = record.bucket;
  json["bucket_nll"] = record.bucket_nll;
  json["kl_tokens"] = record.kl_tokens;
  json["kl"] = record.kl;
  json["inv_freq"] = record.inv_freq;
  json["attention_scale"] = record.attention_scale;
}

Reading read_reading(ObjectReader& in) {
  Reading r;
  const Json& points = in.array("points");
  for (std::size_t i = 0; i < points.size(); ++i) {
    ObjectReader point(points[i], in.path("points") + "[" + std::to_string(i) + "]");
    r.points.push_back({point.integer("length", 0, kMost), point.integer("predicted", 0, kMost), point.number("nll")});
    point.finish();
  }
  r.bucket = in.integer("bucket", 0, kMost);
  r.bucket_nll = in.numbers("bucket_nll");
  r.kl_tokens = in.integer("kl_tokens", 0, kMost);
  r.kl = in.number("kl");
  r.inv_freq = in.numbers("inv_freq");
  r.attention_scale = in.number("attention_scale");
  return r;
}

}  // namespace

std::string to_json(const Record& record) {
  Json json{{"schema", kRecordSchema},
            {"key", record.key},
            {"task", record.task},
            {"method", record.method},
            {"factor", record.factor},
            {"document", record.document},
            {"document_hash", record.document_hash}};
  if (!record.rung.empty()) json["rung"] = record.rung;
  if (const Answer* answer = record.answer()) {
    json["answer"] = to_json(*answer);
  } else {
    write_reading(*record.reading(), json);
  }
  json["seconds"] = record.seconds;
  // Names come from files of any spelling, answers from models of any kind
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Record> record_from_json(std::string_view text) {
  if (text.size() > kMaxRecordBytes) {
    return Error{ErrorCode::malformed, fmt::format("a record has at most {} bytes", kMaxRecordBytes), ""};
  }
  if (Record plain; scan_record(text, plain)) return plain;
  return read_object<Record>(text, [](ObjectReader& in) {
    expect_schema(in, kRecordSchema);
    Record r;
    r.key = in.text("key");
    r.task = in.text("task");
    r.method = in.text("method");
    r.factor = in.number("factor");
    r.document = in.text("document");
    r.document_hash = in.text("document_hash");
    if (in.has("rung")) r.rung = in.text("rung");
    if (in.has("answer")) {
      r.result = read_answer(in.object("answer"));
    } else {
      r.result = read_reading(in);
    }
    r.seconds = in.number("seconds");
    return r;
  });
}

std::string to_json(const RunInfo& info) {
  Json settings = Json::object();
  for (const auto& [flag, value] : info.settings) settings[flag] = value;
  return base::write_json(Json{{"schema", kRunSchema},
                               {"task", info.task},
                               {"model", info.model},
                               {"model_hash", info.model_hash},
                               {"architecture", info.architecture},
                               {"context_trained", info.context_trained},
                               {"engine", info.engine},
                               {"served", info.served},
                               {"version", info.version},
                               {"machine", info.machine},
                               {"started", info.started},
                               {"settings", settings},
                               {"command", info.command}});
}

Result<RunInfo> run_info_from_json(std::string_view text) {
  return read_object<RunInfo>(text, [](ObjectReader& in) {
    expect_schema(in, kRunSchema);
    RunInfo info;
    info.task = in.text("task");
    info.model = in.text("model");
    info.model_hash = in.text("model_hash");
    info.architecture = in.text("architecture");
    info.context_trained = in.integer("context_trained", 0, kMost);
    info.engine = in.text("engine");
    info.served = in.boolean("served");
    info.version = in.text("version");
    info.machine = in.text("machine");
    info.started = in.text("started");
    const Json& settings = in.any("settings");
    if (!settings.is_object()) in.reject("settings", ErrorCode::malformed, "expected an object");
    for (const auto& [flag, value] : settings.items()) {
      if (!value.is_string()) in.reject("settings", ErrorCode::malformed, "expected texts");
      info.settings[flag] = value.get<std::string>();
    }
    info.command = texts(in, "command");
    return info;
  });
}

}  // namespace mrrope::eval
