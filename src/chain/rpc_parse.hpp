#pragma once

#include <boost/json.hpp>

#include "gym/chain/client.hpp"

// Strict readers of the JSON forms of the Ethereum JSON-RPC specification ("0x1a" quantities,
// "0x.." data). Every function: @errors kMalformed naming the field.

namespace gym::chain {

/// One JSON object of a reply, read field by field.
class Fields {
  public:
    static Result<Fields> of(const boost::json::value& value, const char* what);

    [[nodiscard]] Result<std::uint64_t> u64(const char* name) const;
    [[nodiscard]] Result<Amount> amount(const char* name) const;
    [[nodiscard]] Result<Bytes> bytes(const char* name) const;
    template <class Fixed>
    [[nodiscard]] Result<Fixed> fixed(const char* name) const {
        GYM_TRY(const Bytes raw, bytes(name));
        auto out = Fixed::from(raw);
        if (!out.ok()) return malformed(name, out.error().message);
        return out;
    }
    [[nodiscard]] Result<const boost::json::array*> array(const char* name) const;
    /// True if the field is missing or null.
    [[nodiscard]] bool absent(const char* name) const;

  private:
    Fields(const boost::json::object& object, const char* what) : object_(object), what_(what) {}
    [[nodiscard]] Result<std::string_view> text(const char* name) const;
    [[nodiscard]] Error malformed(const char* name, const std::string& why) const;

    const boost::json::object& object_;
    const char* what_;
};

[[nodiscard]] Result<std::uint64_t> parse_u64(const boost::json::value& value, const char* what);
[[nodiscard]] Result<Amount> parse_amount(const boost::json::value& value, const char* what);
[[nodiscard]] Result<Bytes> parse_bytes(const boost::json::value& value, const char* what);
/// @errors also kMismatch if `verify_hash` and the fields do not hash to the hash.
[[nodiscard]] Result<BlockHeader> parse_header(const boost::json::value& value, bool verify_hash);
[[nodiscard]] Result<Log> parse_log(const boost::json::value& value);
[[nodiscard]] Result<std::vector<Log>> parse_logs(const boost::json::array& values);
[[nodiscard]] Result<Receipt> parse_receipt(const boost::json::value& value);
[[nodiscard]] Result<ConsensusReceipt> parse_consensus_receipt(const boost::json::value& value);

/// "0x0", "0x1a": shortest form.
[[nodiscard]] std::string quantity(const Amount& value);

}  // namespace gym::chain
