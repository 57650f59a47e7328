#pragma once

namespace CLI {
class Validator;
}

namespace gym::app {

/// For options that an empty shell variable must not switch off: `--address "$node"`.
[[nodiscard]] CLI::Validator not_empty();

}  // namespace gym::app
