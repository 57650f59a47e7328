#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace gym {

template <class Signature>
class FunctionRef;

/// A reference to something callable, for parameters that are called before the function returns.
/// Unlike std::function it never allocates, and its header is small. The callable must outlive it.
template <class Return, class... Args>
class FunctionRef<Return(Args...)> {
  public:
    // As std::function: implicit, and not for another FunctionRef.
    // NOLINTBEGIN(bugprone-forwarding-reference-overload, google-explicit-constructor)
    template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
             std::is_object_v<std::remove_reference_t<F>> &&
             std::is_invocable_r_v<Return, F&, Args...>) FunctionRef(F&& callable)
    noexcept
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
          call_([](void* object, Args... args) -> Return {
              return static_cast<Return>(
                  (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...));
          }) {}
    // NOLINTEND(bugprone-forwarding-reference-overload, google-explicit-constructor)

    Return operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

  private:
    void* object_;
    Return (*call_)(void*, Args...);
};

}  // namespace gym
