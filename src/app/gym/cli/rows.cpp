#include "cli/rows.hpp"

namespace gym::app {
namespace {

constexpr int kLabelWidth = 18;

}  // namespace

void print_row_text(std::FILE* out, std::string_view label, const std::string& value) {
    (void)std::fprintf(out, "%-*.*s %s\n", kLabelWidth, static_cast<int>(label.size()),
                       label.data(), value.c_str());
}

}  // namespace gym::app
