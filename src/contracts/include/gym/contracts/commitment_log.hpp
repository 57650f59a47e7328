#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"

namespace gym::contracts {

struct RoundPosted {
    Digest job_id;
    std::uint64_t round = 0;
    Digest round_record_hash;
    friend bool operator==(const RoundPosted&, const RoundPosted&) = default;
};
/// Games about the aggregate are opened from the block of this event on, for a window.
struct AggregatePosted {
    Digest job_id;
    std::uint64_t round = 0;
    Address signer;
    Digest unit;       ///< game::unit_of()
    Bytes commitment;  ///< 226 bytes, signed
    friend bool operator==(const AggregatePosted&, const AggregatePosted&) = default;
};
struct EpochPosted {
    std::uint64_t epoch = 0;
    Digest job_id;
    std::uint64_t round = 0;
    Digest commitments_root;
    std::uint32_t count = 0;
    friend bool operator==(const EpochPosted&, const EpochPosted&) = default;
};
struct CommitmentPosted {
    Digest job_id;
    std::uint64_t round = 0;
    Address sender;
    Bytes commitment;
    friend bool operator==(const CommitmentPosted&, const CommitmentPosted&) = default;
};
using CommitmentEvent = std::variant<RoundPosted, AggregatePosted, EpochPosted, CommitmentPosted>;

class CommitmentLog {
  public:
    explicit CommitmentLog(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    /// A round, with what the contract checks of it.
    struct RoundHead {
        Digest job_id;
        std::uint64_t round = 0;
        Bytes head;  ///< of its record, protocol::kRoundHeadBytes
        /// Where its base state is from: nothing in round 1; the signed commitment to the aggregate
        /// of the round before; without deltas, the head of the record before.
        Bytes origin;
    };
    [[nodiscard]] ContractCall post_round(const RoundHead& record) const;
    /// @param commitment signed, 226 bytes, of a round that no other one follows yet.
    [[nodiscard]] ContractCall post_aggregate(const Digest& job_id, std::uint64_t round,
                                              ByteView commitment) const;
    [[nodiscard]] ContractCall post_epoch(const EpochPosted& epoch) const;
    /// Publishes a commitment, so that a coordinator has to take it. @param commitment signed, 226
    /// bytes, of a round that has a record.
    [[nodiscard]] ContractCall post_commitment(const Digest& job_id, std::uint64_t round,
                                               ByteView commitment) const;

    struct Round {
        Digest round_record_hash;  ///< zero if the round was not posted
        std::uint64_t epoch = 0;   ///< 0 while open
    };
    struct Aggregate {
        Digest unit;                     ///< game::unit_of(); zero if it was not posted
        std::uint64_t block_number = 0;  ///< of the post
    };
    struct Epoch {
        Digest commitments_root;  ///< zero if the epoch was not posted
        std::uint32_t count = 0;
        std::uint64_t block_number = 0;  ///< what draws its units comes later
    };
    /// The round of a drand chain that draws an epoch's units.
    struct Draw {
        std::uint64_t round = 0;  ///< 0: no such epoch, or this chain's prevrandao draws
        Digest randomness;        ///< zero until somebody has proven the round
    };
    [[nodiscard]] Result<Round> round_of(chain::ChainClient& client, const Digest& job_id,
                                         std::uint64_t round,
                                         const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Aggregate> aggregate_of(
        chain::ChainClient& client, const Digest& job_id, std::uint64_t round,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Epoch> epoch_of(chain::ChainClient& client, std::uint64_t epoch,
                                         const chain::BlockId& at = chain::BlockTag::kLatest) const;

    /// The coordinator that stands for an epoch; zero if it was not posted.
    [[nodiscard]] Result<Address> poster_of(
        chain::ChainClient& client, std::uint64_t epoch,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    /// The block in which a commitment was published; 0 if none. @param leaf its leaf in an epoch.
    [[nodiscard]] Result<std::uint64_t> published_at(
        chain::ChainClient& client, const Digest& leaf,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;

    /// The DrandBeacon whose rounds draw, for ever; zero: prevrandao of this chain draws.
    [[nodiscard]] Result<Address> beacon(chain::ChainClient& client) const;
    [[nodiscard]] Result<Draw> draw_of(chain::ChainClient& client, std::uint64_t epoch,
                                       const chain::BlockId& at = chain::BlockTag::kLatest) const;

    /// Whether `account` may post rounds: the signer of what a coordinator says.
    [[nodiscard]] Result<bool> is_coordinator(
        chain::ChainClient& client, const Address& account,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;

    [[nodiscard]] Result<std::optional<CommitmentEvent>> parse_event(const chain::Log& log) const;
    [[nodiscard]] static std::vector<Digest> topics();
    /// Of CommitmentPosted.
    [[nodiscard]] static Digest published_topic();

  private:
    Address address_;
};

}  // namespace gym::contracts
