#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"

namespace gym::db {

/// One statement parameter ($1, $2, ...) in PostgreSQL's text format, or NULL. The server converts
/// it to the parameter's SQL type, so an Amount fits NUMERIC(78,0), a Digest or Bytes fits bytea,
/// and so on.
class Param {
  public:
    Param(std::nullopt_t) {}                                    // NOLINT: implicit by design
    Param(std::string text) : text_(std::move(text)) {}         // NOLINT
    Param(std::string_view text) : text_(std::string(text)) {}  // NOLINT
    Param(const char* text) : text_(std::string(text)) {}       // NOLINT
    Param(bool value) : text_(value ? "t" : "f") {}             // NOLINT
    template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>) Param(T value)
        : text_(std::to_string(value)) {}                     // NOLINT
    Param(double value);                                      // NOLINT
    Param(const Amount& value) : text_(value.to_string()) {}  // NOLINT
    Param(ByteView bytes);                                    // NOLINT
    Param(const Bytes& bytes) : Param(ByteView(bytes)) {}     // NOLINT
    template <std::size_t N, class Tag>
    Param(const FixedBytes<N, Tag>& bytes) : Param(bytes.view()) {}  // NOLINT
    template <class T>
    Param(const std::optional<T>& value) {  // NOLINT
        if (value) *this = Param(*value);
    }

    /// An SQL array of the elements ("{...}"), for `= ANY($1)` and `unnest($1::type[])`.
    template <class Range>
    static Param array(const Range& range) {
        ArrayBuilder builder;
        for (const auto& element : range)
            builder.add(Param(element));
        return Param(std::move(builder).finish());
    }

    [[nodiscard]] const std::optional<std::string>& text() const noexcept { return text_; }

  private:
    class ArrayBuilder {
      public:
        void add(const Param& element);
        std::string finish() &&;

      private:
        std::string out_ = "{";
    };
    std::optional<std::string> text_;
};

using Params = std::initializer_list<Param>;

namespace detail {
struct ResultData;  // wraps the driver's result; shared by the rows that point into it
std::string_view raw_text(const ResultData& data, std::size_t row, std::size_t column);
bool raw_is_null(const ResultData& data, std::size_t row, std::size_t column);
std::size_t column_index(const ResultData& data, std::string_view name);
[[noreturn]] void conversion_failed(const ResultData& data, std::size_t column,
                                    std::string_view why);
template <class T>
struct FromText;  // Result<T> parse(std::string_view)
}  // namespace detail

/// One row of an answer; keeps the answer alive. Reading a column that does not exist, a NULL into
/// a type that is not optional, or text that is not a T is a broken invariant (the schema is ours)
/// and aborts.
class Row {
  public:
    Row(std::shared_ptr<const detail::ResultData> data, std::size_t row)
        : data_(std::move(data)), row_(row) {}

    /// T: std::string, bool, an integer, double, Amount, Bytes, FixedBytes (Digest, Address), or
    /// std::optional of one of them for columns that may be NULL.
    template <class T>
    [[nodiscard]] T get(std::size_t column) const;
    template <class T>
    [[nodiscard]] T get(std::string_view column) const {
        return get<T>(detail::column_index(*data_, column));
    }
    [[nodiscard]] bool is_null(std::size_t column) const {
        return detail::raw_is_null(*data_, row_, column);
    }
    [[nodiscard]] bool is_null(std::string_view column) const {
        return is_null(detail::column_index(*data_, column));
    }

  private:
    std::shared_ptr<const detail::ResultData> data_;
    std::size_t row_;
};

/// A statement's answer. Copies share it.
class Rows {
  public:
    class Iterator {
      public:
        Iterator(const Rows& rows, std::size_t row) : rows_(&rows), row_(row) {}
        Row operator*() const { return (*rows_)[row_]; }
        Iterator& operator++() {
            ++row_;
            return *this;
        }
        bool operator==(const Iterator& other) const { return row_ == other.row_; }

      private:
        const Rows* rows_;
        std::size_t row_;
    };

    explicit Rows(std::shared_ptr<const detail::ResultData> data);
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Rows written by INSERT, UPDATE or DELETE.
    [[nodiscard]] std::uint64_t affected() const noexcept { return affected_; }
    [[nodiscard]] Row operator[](std::size_t row) const;
    [[nodiscard]] Iterator begin() const { return {*this, 0}; }
    [[nodiscard]] Iterator end() const { return {*this, size_}; }

  private:
    std::shared_ptr<const detail::ResultData> data_;
    std::size_t size_ = 0;
    std::uint64_t affected_ = 0;
};

/// Elements of a one-dimensional SQL array in text format ("{a,NULL,"b c"}"); NULL becomes nullopt.
/// @errors kMalformed.
[[nodiscard]] Result<std::vector<std::optional<std::string>>> parse_array(std::string_view text);

namespace detail {

template <>
struct FromText<std::string> {
    static Result<std::string> parse(std::string_view text) { return std::string(text); }
};
template <>
struct FromText<bool> {
    static Result<bool> parse(std::string_view text);
};
template <>
struct FromText<double> {
    static Result<double> parse(std::string_view text);
};
template <>
struct FromText<Amount> {
    static Result<Amount> parse(std::string_view text) { return Amount::parse(text); }
};
Result<Bytes> parse_bytea(std::string_view text);
template <>
struct FromText<Bytes> {
    static Result<Bytes> parse(std::string_view text) { return parse_bytea(text); }
};
template <std::size_t N, class Tag>
struct FromText<FixedBytes<N, Tag>> {
    static Result<FixedBytes<N, Tag>> parse(std::string_view text) {
        GYM_TRY(const Bytes bytes, parse_bytea(text));
        return FixedBytes<N, Tag>::from(bytes);
    }
};
Result<std::int64_t> parse_signed(std::string_view text);
Result<std::uint64_t> parse_unsigned(std::string_view text);
template <std::integral T>
requires(!std::same_as<T, bool>) struct FromText<T> {
    static Result<T> parse(std::string_view text) {
        if constexpr (std::signed_integral<T>) {
            GYM_TRY(const std::int64_t wide, parse_signed(text));
            if (!std::in_range<T>(wide)) return fail(ErrorCode::kOutOfRange, std::string(text));
            return static_cast<T>(wide);
        } else {
            GYM_TRY(const std::uint64_t wide, parse_unsigned(text));
            if (!std::in_range<T>(wide)) return fail(ErrorCode::kOutOfRange, std::string(text));
            return static_cast<T>(wide);
        }
    }
};
template <class T>
struct OptionalTraits {
    static constexpr bool kOptional = false;
    using Inner = T;
};
template <class T>
struct OptionalTraits<std::optional<T>> {
    static constexpr bool kOptional = true;
    using Inner = T;
};

}  // namespace detail

template <class T>
T Row::get(std::size_t column) const {
    using Traits = detail::OptionalTraits<T>;
    if (detail::raw_is_null(*data_, row_, column)) {
        if constexpr (Traits::kOptional) return std::nullopt;
        detail::conversion_failed(*data_, column, "is NULL");
    }
    auto parsed =
        detail::FromText<typename Traits::Inner>::parse(detail::raw_text(*data_, row_, column));
    if (!parsed.ok()) detail::conversion_failed(*data_, column, parsed.error().message);
    return std::move(parsed).value();
}

}  // namespace gym::db
