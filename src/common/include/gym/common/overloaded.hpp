#pragma once

namespace gym {

/// Several lambdas as one visitor for std::visit: each handles the alternative it takes.
template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
// C++20 deduces this by itself; clang does so only since version 17.
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace gym
