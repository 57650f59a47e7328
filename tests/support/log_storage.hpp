#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "anvil.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/protocol/round_record.hpp"

/// What CommitmentLog takes from nobody, written into its storage: tests put records of any rounds
/// there, without those before them, and let other keys sign.
namespace gym::testing {

/// Of its mappings (`forge inspect CommitmentLog storageLayout`).
inline constexpr std::uint8_t kRolesSlot = 0;
inline constexpr std::uint8_t kRoundsSlot = 1;

inline Digest word_of(std::uint64_t number) {
    Digest out;
    for (std::size_t i = 0; i < sizeof number; ++i)
        out.data.at(out.data.size() - 1 - i) = static_cast<std::uint8_t>(number >> (8 * i));
    return out;
}

inline Digest slot_of(const Digest& key, const Digest& mapping) {
    return crypto::keccak256({key.view(), mapping.view()});
}

inline void store_word(TestAnvil& anvil, const Address& contract, const Digest& slot,
                       const Digest& word) {
    anvil.rpc("anvil_setStorageAt",
              "[\"" + contract.hex() + "\",\"" + slot.hex() + "\",\"" + word.hex() + "\"]");
}

/// The round has the record with this hash, and no epoch.
inline void put_round(TestAnvil& anvil, const Address& log, const Digest& job_id,
                      std::uint64_t round, const Digest& hash) {
    store_word(anvil, log, slot_of(word_of(round), slot_of(job_id, word_of(kRoundsSlot))), hash);
}
inline void put_round(TestAnvil& anvil, const Address& log, const protocol::RoundRecord& record) {
    put_round(anvil, log, record.job_id, record.round, protocol::hash(record));
}

/// The account is a coordinator: it may sign aggregates.
inline void let_sign(TestAnvil& anvil, const Address& log, const Address& account) {
    Digest key;
    std::ranges::copy(account.view(), key.data.end() - Address::kSize);
    const Digest role = crypto::keccak256_text("COORDINATOR_ROLE");
    store_word(anvil, log, slot_of(key, slot_of(role, word_of(kRolesSlot))), word_of(1));
}

}  // namespace gym::testing
