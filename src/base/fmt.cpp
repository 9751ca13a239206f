// SPDX-License-Identifier: MIT
//
// The part of fmt that is no template, compiled here once and not in every file that formats (cmake/fmt.cmake): two to
// three seconds of each. Debian has it as a shared library only, which whoever links mrrope would need, too.
#include <fmt/format-inl.h>

static_assert(FMT_VERSION / 10000 == 9, "another fmt has other parts: look at what is undefined without this file");

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
