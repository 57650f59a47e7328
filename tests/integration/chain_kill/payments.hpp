#pragma once

#include <cstdlib>
#include <string>

#include "gym/chain/private_chain.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/db/config.hpp"
#include "must.hpp"

namespace gym::testing {

inline crypto::PrivateKey payer() {
    return chain::private_chain_key(3);
}

/// Payment number `i`: to an account of its own, of an amount of its own.
inline chain::IntentRequest payment(std::uint64_t i) {
    chain::IntentRequest out;
    out.id = "payment/" + std::to_string(i);
    out.to = chain::private_chain_key(static_cast<std::uint32_t>(1'000 + i)).address();
    out.value_wei = Amount(1'000 + i);
    out.label = "pay " + std::to_string(i);
    return out;
}

/// Fees are raised soon, lost transactions are sent again soon.
inline chain::TxPolicy sender_policy(std::uint64_t chain_id) {
    chain::TxPolicy policy;
    policy.chain_id = chain_id;
    policy.bump_after_ms = 60;
    policy.rebroadcast_ms = 50;
    return policy;
}

/// "postgres:HOST:PORT:DATABASE:USER", the password from GYM_DB_PASSWORD.
inline db::ConnectionConfig parse_database(const std::string& text) {
    db::ConnectionConfig out;
    std::string parts[5];
    std::size_t begin = 0;
    for (std::string& part : parts) {
        const std::size_t end = text.find(':', begin);
        part = text.substr(begin, end == std::string::npos ? end : end - begin);
        begin = end == std::string::npos ? text.size() : end + 1;
    }
    GYM_ASSERT(parts[0] == "postgres" && !parts[4].empty(), "a store that is known");
    out.host = parts[1];
    out.port = static_cast<std::uint16_t>(std::strtoul(parts[2].c_str(), nullptr, 10));
    out.database = parts[3];
    out.user = parts[4];
    const char* password = std::getenv("GYM_DB_PASSWORD");
    out.password = password == nullptr ? "" : password;
    return out;
}

inline std::string database_text(const db::ConnectionConfig& config) {
    return "postgres:" + config.host + ":" + std::to_string(config.port) + ":" + config.database +
           ":" + config.user;
}

}  // namespace gym::testing
