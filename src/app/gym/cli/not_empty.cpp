#include "cli/not_empty.hpp"

#include <CLI/CLI.hpp>

namespace gym::app {

CLI::Validator not_empty() {
    return CLI::Validator(
        [](const std::string& text) {
            return text.empty() ? "it is empty: is a variable of the shell not set?"
                                : std::string();
        },
        "");
}

}  // namespace gym::app
