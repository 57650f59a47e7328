#pragma once

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "gym/common/result.hpp"

namespace gym {

/// An open file, closed on scope exit; below 0: none. Not thread-safe.
class Descriptor {
  public:
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    [[nodiscard]] int get() const { return value_; }

  private:
    int value_;
};

/// "cannot ACTION PATH: REASON" by errno: kNotFound where no file has the name, else kIo.
[[nodiscard]] Error system_error(const std::filesystem::path& path, const char* action);

}  // namespace gym
