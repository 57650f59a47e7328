#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "liars.hpp"
#include "outer_liars.hpp"
#include "transcript_cache.hpp"

/// Real units of tiny programs, right and wrong in many ways, with what their sides play: computed
/// when a history needs it first, and kept for all that follow.
namespace gym::game::sim {

/// A unit as somebody has computed and committed to it.
struct UnitKind {
    std::string what;
    UnitFacts facts;
    bool faulty = false;
    std::optional<std::uint8_t>
        contradiction;  ///< of the round record, known when a game is opened
    std::size_t program = 0;

    std::unique_ptr<RerunWork> run;
    std::unique_ptr<testing::FaultyWork> device;
    std::unique_ptr<testing::Liar> liar;
    std::unique_ptr<testing::OuterLiar> outer_liar;
    testing::Player answer;     ///< as its asserter
    testing::Player challenge;  ///< as a challenger that takes this for the right unit
};

/// Kinds have numbers, so that a history can name them; number i is the same in every process.
class UnitLibrary {
  public:
    UnitLibrary();
    ~UnitLibrary();
    static UnitLibrary& shared();

    static constexpr std::size_t kPrograms = 2;
    /// Kinds from here on are aggregates.
    static constexpr std::size_t kAggregates = std::size_t{1} << 20;
    static_assert(kAggregates % kPrograms == 0);
    /// Number `variant` of a program's units; variant 0 is right.
    [[nodiscard]] static std::size_t train(std::size_t program, std::size_t variant) {
        return program + kPrograms * variant;
    }
    [[nodiscard]] static std::size_t aggregate(std::size_t program, std::size_t variant) {
        return kAggregates + train(program, variant);
    }
    [[nodiscard]] static bool is_aggregate(std::size_t kind) { return kind >= kAggregates; }
    /// The verdict on a unit of this kind.
    [[nodiscard]] static std::size_t right_of(std::size_t kind) {
        return is_aggregate(kind) ? aggregate(kind % kPrograms, 0) : train(kind % kPrograms, 0);
    }
    /// Of the commitments in aggregates.
    [[nodiscard]] static crypto::Eip712Domain domain() {
        return protocol::signing_domain(31'337, Address{});
    }
    const UnitKind& kind(std::size_t number);

    using Planned = Result<std::shared_ptr<const Move>>;
    /// The answer of a kind's asserter.
    const Planned& answer(std::size_t asserter, const TranscriptCache::Reached& at);
    /// The move of a challenger whose own unit is of kind `own`.
    const Planned& challenge(std::size_t own, std::size_t asserter,
                             const TranscriptCache::Reached& at);

  private:
    struct Program;
    using Plans = std::unordered_map<Digest, Planned>;
    struct Outer;
    UnitKind& make(std::size_t number);
    void make_train(UnitKind& kind, std::size_t variant, std::mt19937_64& rng);
    // outer_kinds.cpp
    void make_aggregate(UnitKind& kind, std::size_t variant, std::mt19937_64& rng);
    void make_outer_liar(UnitKind& kind, Outer& outer, std::mt19937_64& rng);
    void make_other_list(UnitKind& kind, Outer& outer, std::mt19937_64& rng);
    void make_faulty_device(UnitKind& kind, std::mt19937_64& rng);
    void make_liar(UnitKind& kind, std::mt19937_64& rng);
    const Planned& plan(Plans& plans, const testing::Player& player,
                        const TranscriptCache::Reached& at);

    std::vector<std::unique_ptr<Program>> programs_;
    std::map<std::size_t, std::shared_ptr<Outer>> outers_;  ///< by program
    std::map<std::size_t, UnitKind> kinds_;
    std::map<std::pair<std::size_t, std::size_t>, Plans> challenges_;
    std::map<std::size_t, Plans> answers_;
};

}  // namespace gym::game::sim
