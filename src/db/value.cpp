#include "gym/db/value.hpp"

#include <charconv>

#include "connection.hpp"

namespace gym::db {

Param::Param(double value) {
    // Shortest text that reads back to the same double.
    std::array<char, 64> buffer;
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    GYM_ASSERT(error == std::errc(), "a double fits 64 characters");
    text_ = std::string(buffer.data(), end);
}

Param::Param(ByteView bytes) : text_("\\x" + to_hex(bytes)) {}

void Param::ArrayBuilder::add(const Param& element) {
    if (out_.size() > 1) out_ += ',';
    if (!element.text()) {
        out_ += "NULL";
        return;
    }
    out_ += '"';
    for (const char c : *element.text()) {
        if (c == '"' || c == '\\') out_ += '\\';
        out_ += c;
    }
    out_ += '"';
}

std::string Param::ArrayBuilder::finish() && {
    out_ += '}';
    return std::move(out_);
}

Rows::Rows(std::shared_ptr<const detail::ResultData> data)
    : data_(std::move(data)),
      size_(static_cast<std::size_t>(data_->result.size())),
      affected_(static_cast<std::uint64_t>(data_->result.affected_rows())) {}

Row Rows::operator[](std::size_t row) const {
    GYM_ASSERT(row < size_, "row index within the answer");
    return {data_, row};
}

Result<std::vector<std::optional<std::string>>> parse_array(std::string_view text) {
    const Error malformed = fail(ErrorCode::kMalformed, "not a one-dimensional SQL array");
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return malformed;
    std::vector<std::optional<std::string>> out;
    std::string_view rest = text.substr(1, text.size() - 2);
    while (!rest.empty()) {
        std::string element;
        bool is_quoted = rest.front() == '"';
        std::size_t at = is_quoted ? 1 : 0;
        for (; at < rest.size() && rest[at] != (is_quoted ? '"' : ','); ++at) {
            if (!is_quoted && (rest[at] == '{' || rest[at] == '"')) return malformed;
            if (is_quoted && rest[at] == '\\' && ++at == rest.size()) return malformed;
            element += rest[at];
        }
        if (is_quoted && at++ >= rest.size()) return malformed;
        if (is_quoted || element != "NULL") {
            out.emplace_back(std::move(element));
        } else {
            out.emplace_back(std::nullopt);
        }
        if (at == rest.size()) return out;
        if (rest[at] != ',' || at + 1 == rest.size()) return malformed;
        rest.remove_prefix(at + 1);
    }
    return out;
}

namespace detail {

std::string_view raw_text(const ResultData& data, std::size_t row, std::size_t column) {
    const auto field = data.result[static_cast<pqxx::result::size_type>(row)]
                                  [static_cast<pqxx::row::size_type>(column)];
    return {field.c_str(), field.size()};
}

bool raw_is_null(const ResultData& data, std::size_t row, std::size_t column) {
    GYM_ASSERT(column < static_cast<std::size_t>(data.result.columns()),
               "column within the answer");
    return data
        .result[static_cast<pqxx::result::size_type>(row)]
               [static_cast<pqxx::row::size_type>(column)]
        .is_null();
}

std::size_t column_index(const ResultData& data, std::string_view name) {
    for (pqxx::row::size_type i = 0; i < data.result.columns(); ++i)
        if (name == data.result.column_name(i)) return static_cast<std::size_t>(i);
    assertion_failed("the answer has the column", std::string(name), __FILE__, __LINE__);
}

void conversion_failed(const ResultData& data, std::size_t column, std::string_view why) {
    const std::string name = data.result.column_name(static_cast<pqxx::row::size_type>(column));
    assertion_failed("the column converts", "column " + name + ": " + std::string(why), __FILE__,
                     __LINE__);
}

Result<bool> FromText<bool>::parse(std::string_view text) {
    if (text == "t") return true;
    if (text == "f") return false;
    return fail(ErrorCode::kMalformed, "not a boolean: " + std::string(text));
}

namespace {
template <class T>
Result<T> parse_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return fail(ErrorCode::kMalformed, "not a number of its type: " + std::string(text));
    return value;
}
}  // namespace

Result<double> FromText<double>::parse(std::string_view text) {
    return parse_number<double>(text);
}
Result<std::int64_t> parse_signed(std::string_view text) {
    return parse_number<std::int64_t>(text);
}
Result<std::uint64_t> parse_unsigned(std::string_view text) {
    return parse_number<std::uint64_t>(text);
}

Result<Bytes> parse_bytea(std::string_view text) {
    if (!text.starts_with("\\x")) return fail(ErrorCode::kMalformed, "not a bytea in hex format");
    return from_hex(text.substr(2));
}

}  // namespace detail
}  // namespace gym::db
