#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "liars.hpp"

/// Real units of tiny programs, right and wrong in many ways, with what their sides play: computed
/// when a history needs it first, and kept for all that follow.
namespace gym::game::sim {

/// A unit as somebody has computed and committed to it.
struct UnitKind {
    std::string what;
    Facts facts;
    bool faulty = false;
    std::optional<std::uint8_t>
        contradiction;  ///< of the round record, known when a game is opened
    std::size_t program = 0;

    std::unique_ptr<RerunWork> run;
    std::unique_ptr<testing::FaultyWork> device;
    std::unique_ptr<testing::Liar> liar;
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
    /// The right unit of a program.
    [[nodiscard]] std::size_t honest(std::size_t program) const { return program; }
    const UnitKind& kind(std::size_t number);

    using Planned = Result<std::shared_ptr<const Move>>;
    /// What the asserter of a kind answers.
    const Planned& answer(std::size_t asserter, const Line& line);
    /// What a challenger plays whose own unit is of kind `own`.
    const Planned& challenge(std::size_t own, std::size_t asserter, const Line& line);

  private:
    struct Program;
    using Plans = std::unordered_map<Digest, Planned>;
    UnitKind& make(std::size_t number);
    void make_faulty_device(UnitKind& kind, std::mt19937_64& rng);
    void make_liar(UnitKind& kind, std::mt19937_64& rng);
    const Planned& plan(Plans& plans, const testing::Player& player, const Line& line);

    std::vector<std::unique_ptr<Program>> programs_;
    std::map<std::size_t, UnitKind> kinds_;
    std::map<std::pair<std::size_t, std::size_t>, Plans> challenges_;
    std::map<std::size_t, Plans> answers_;
};

}  // namespace gym::game::sim
