#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "gym/common/assert.hpp"

namespace gym {

/// Tokens of 16 or 32 bits each, borrowed; read as 32 bits. Valid as long as what it views.
class TokenView {
  public:
    /// Random access, by value.
    class Iterator {
      public:
        using iterator_concept = std::random_access_iterator_tag;
        using iterator_category = std::input_iterator_tag;  // no references
        using value_type = std::uint32_t;
        using difference_type = std::ptrdiff_t;
        using reference = std::uint32_t;
        using pointer = void;

        Iterator() = default;
        reference operator*() const { return narrow_ != nullptr ? *narrow_ : *wide_; }
        reference operator[](difference_type n) const { return *(*this + n); }
        Iterator& operator+=(difference_type n) {
            if (narrow_ != nullptr)
                narrow_ += n;
            else
                wide_ += n;
            return *this;
        }
        Iterator& operator-=(difference_type n) { return *this += -n; }
        Iterator& operator++() { return *this += 1; }
        Iterator& operator--() { return *this += -1; }
        Iterator operator++(int) {  // NOLINT(cert-dcl21-cpp): iterators return a value
            Iterator before = *this;
            ++*this;
            return before;
        }
        Iterator operator--(int) {  // NOLINT(cert-dcl21-cpp): iterators return a value
            Iterator before = *this;
            --*this;
            return before;
        }
        friend Iterator operator+(Iterator at, difference_type n) { return at += n; }
        friend Iterator operator+(difference_type n, Iterator at) { return at += n; }
        friend Iterator operator-(Iterator at, difference_type n) { return at -= n; }
        friend difference_type operator-(const Iterator& a, const Iterator& b) {
            return a.narrow_ != nullptr ? a.narrow_ - b.narrow_ : a.wide_ - b.wide_;
        }
        friend bool operator==(const Iterator&, const Iterator&) = default;
        friend auto operator<=>(const Iterator& a, const Iterator& b) { return (a - b) <=> 0; }

      private:
        friend class TokenView;
        explicit Iterator(const std::uint16_t* narrow) : narrow_(narrow) {}
        explicit Iterator(const std::uint32_t* wide) : wide_(wide) {}
        const std::uint16_t* narrow_ = nullptr;
        const std::uint32_t* wide_ = nullptr;
    };

    TokenView() = default;
    TokenView(std::span<const std::uint16_t> tokens) : begin_(tokens.data()), size_(tokens.size()) {
        if (tokens.empty()) begin_ = Iterator();
    }
    TokenView(std::span<const std::uint32_t> tokens) : begin_(tokens.data()), size_(tokens.size()) {
        if (tokens.empty()) begin_ = Iterator();
    }
    TokenView(const std::vector<std::uint16_t>& tokens)
        : TokenView(std::span<const std::uint16_t>(tokens)) {}
    TokenView(const std::vector<std::uint32_t>& tokens)
        : TokenView(std::span<const std::uint32_t>(tokens)) {}

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] Iterator begin() const { return begin_; }
    [[nodiscard]] Iterator end() const {
        return size_ == 0 ? begin_ : begin_ + static_cast<std::ptrdiff_t>(size_);
    }
    [[nodiscard]] std::uint32_t operator[](std::size_t at) const {
        GYM_ASSERT(at < size_, "the token is within the view");
        return begin_[static_cast<std::ptrdiff_t>(at)];
    }
    [[nodiscard]] std::uint32_t front() const { return (*this)[0]; }
    [[nodiscard]] std::uint32_t back() const { return (*this)[size_ - 1]; }
    [[nodiscard]] TokenView subspan(std::size_t first, std::size_t count) const {
        GYM_ASSERT(first <= size_ && count <= size_ - first, "the part is within the view");
        TokenView out;
        if (count == 0) return out;
        out.begin_ = begin_ + static_cast<std::ptrdiff_t>(first);
        out.size_ = count;
        return out;
    }
    [[nodiscard]] TokenView first(std::size_t count) const { return subspan(0, count); }
    [[nodiscard]] TokenView last(std::size_t count) const { return subspan(size_ - count, count); }

  private:
    Iterator begin_;
    std::size_t size_ = 0;
};

}  // namespace gym
