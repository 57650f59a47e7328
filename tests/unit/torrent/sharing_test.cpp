// The rules by which gym-torrent shares, over a session that the test plays.
#include "sharing.hpp"

#include <gtest/gtest.h>

#include <map>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class PlayedTorrents final : public Torrents {
  public:
    [[nodiscard]] std::uint16_t port() const override { return 1; }
    [[nodiscard]] int wake_descriptor() const override { return -1; }
    [[nodiscard]] std::vector<Event> poll() override { return std::exchange(events, {}); }
    Status add(const std::string& root, const fs::path& file, const std::string&) override {
        if (!fs::exists(file)) return fail(ErrorCode::kMalformed, "no torrent");
        if (states.contains(root)) return fail(ErrorCode::kAlreadyExists, "it is there");
        states[root] = {};
        return {};
    }
    void remove(const std::string& root, bool) override { states.erase(root); }
    bool give(const std::string& root, std::uint64_t index, std::vector<char> bytes) override {
        given.push_back(root.substr(0, 1) + std::to_string(index) + ":" +
                        std::to_string(bytes.size()));
        return true;
    }
    [[nodiscard]] State state(const std::string& root) const override {
        const auto found = states.find(root);
        return found == states.end() ? State() : found->second;
    }
    [[nodiscard]] std::string available(const std::string&) const override { return "c0"; }

    std::vector<Event> events;
    std::map<std::string, State> states;
    std::vector<std::string> given;
};

std::string root(char digit) {
    return std::string(64, digit);
}

class SharingTest : public ::testing::Test {
  protected:
    void start(const SharingBounds& bounds) {
        sharing_.reset();
        folder_.reset();
        torrents_.states.clear();
        said_.clear();
        folder_.emplace(SeedFolder::open(dir_.path()).value());
        sharing_.emplace(
            *folder_, torrents_, bounds, [this](const std::string& line) { said_.push_back(line); },
            now_);
    }
    void put(char digit, std::uint64_t size) {
        ASSERT_TRUE(write_file_atomic(dir_.path() / root(digit), Bytes(size, 7)).ok());
        ASSERT_TRUE(write_file_atomic(dir_.path() / (root(digit) + ".torrent"), Bytes(3, 7)).ok());
    }
    /// Fetches a blob to its end.
    void seed(char digit, std::uint64_t size) {
        sharing_->obey("want " + root(digit) + " " + std::to_string(size));
        put(digit, size);
        sharing_->obey("join " + root(digit) + " http://t/announce");
        torrents_.states[root(digit)] = {true, 0, 1};
        pass(seconds(1));
    }
    void pass(milliseconds time) {
        now_ += time;
        sharing_->pass_events(now_);
        sharing_->tick(now_);
    }
    [[nodiscard]] bool said(const std::string& begin) const {
        return std::ranges::any_of(
            said_, [&](const std::string& line) { return line.starts_with(begin); });
    }
    [[nodiscard]] bool here(char digit) const { return fs::exists(dir_.path() / root(digit)); }

    testing::TemporaryFolder dir_;
    PlayedTorrents torrents_;
    std::vector<std::string> said_;
    std::optional<SeedFolder> folder_;
    std::optional<Sharing> sharing_;
    Sharing::Moment now_ = Sharing::Moment{} + seconds(1'000);
};

TEST_F(SharingTest, SeedingEndsAtItsRatio) {
    start({.seed_ratio_max = 2});
    seed('a', 3 * kMiB);
    torrents_.states[root('a')].sent_bytes = 6 * kMiB - 1;
    pass(seconds(1));
    EXPECT_TRUE(here('a'));
    torrents_.states[root('a')].sent_bytes = 6 * kMiB;
    pass(seconds(1));
    EXPECT_FALSE(here('a'));
    EXPECT_TRUE(said("ended " + root('a') + " it was sent as often"));
    EXPECT_TRUE(torrents_.states.empty());
    pass(seconds(1));
    EXPECT_TRUE(said("count " + std::to_string(6 * kMiB) + " 0 0")) << "what was sent still counts";
}

TEST_F(SharingTest, SeedingEndsAtItsTimeWhichARestartContinues) {
    start({.seed_s_max = 100});
    seed('a', 2 * kMiB);
    torrents_.states[root('a')].sent_bytes = kMiB;
    for (int i = 0; i < 60; ++i)
        pass(seconds(1));
    EXPECT_TRUE(here('a'));
    sharing_->save();
    start({.seed_s_max = 100});
    EXPECT_TRUE(torrents_.states.contains(root('a'))) << "it is seeded again";
    torrents_.states[root('a')] = {true, 0, 1};
    for (int i = 0; i < 38; ++i)
        pass(seconds(1));
    EXPECT_TRUE(here('a'));
    for (int i = 0; i < 3; ++i)
        pass(seconds(1));
    EXPECT_FALSE(here('a'));
    EXPECT_TRUE(said("ended " + root('a') + " it was shared as long"));
}

TEST_F(SharingTest, TheFolderHasABoundAndTheOldestSeedMakesRoom) {
    start({.seed_bytes_max = 10 * kMiB});
    seed('a', 4 * kMiB);
    seed('b', 4 * kMiB);
    sharing_->obey("want " + root('c') + " " + std::to_string(4 * kMiB));
    EXPECT_FALSE(here('a'));
    EXPECT_TRUE(here('b'));
    EXPECT_TRUE(said("ended " + root('a') + " its room is needed"));
    // A blob that is fetched now does not go.
    sharing_->obey("want " + root('d') + " " + std::to_string(6 * kMiB));
    EXPECT_FALSE(here('b'));
    sharing_->obey("want " + root('e') + " " + std::to_string(kMiB));
    EXPECT_TRUE(said("full " + root('e')));
    sharing_->obey("want " + root('f') + " " + std::to_string(11 * kMiB));
    EXPECT_TRUE(said("full " + root('f')));
}

TEST_F(SharingTest, ALowerBoundIsKeptAtTheNextStart) {
    start({});
    seed('a', 4 * kMiB);
    seed('b', 4 * kMiB);
    sharing_->save();
    start({.seed_bytes_max = 5 * kMiB});
    EXPECT_EQ(static_cast<int>(here('a')) + static_cast<int>(here('b')), 1);
}

TEST_F(SharingTest, WhatADownloadLeftStaysUntilRoomIsNeeded) {
    start({.seed_bytes_max = 8 * kMiB});
    sharing_->obey("want " + root('a') + " " + std::to_string(4 * kMiB));
    put('a', 4 * kMiB);
    sharing_->obey("join " + root('a') + " http://t/announce");
    sharing_->obey("leave " + root('a'));
    EXPECT_TRUE(here('a'));
    EXPECT_TRUE(torrents_.states.empty());
    start({.seed_bytes_max = 8 * kMiB});
    EXPECT_TRUE(here('a'));
    sharing_->obey("want " + root('b') + " " + std::to_string(5 * kMiB));
    EXPECT_FALSE(here('a'));
}

TEST_F(SharingTest, WhatIsSeededIsFoundWhenTheNodeFetchesItAgain) {
    start({.seed_bytes_max = 8 * kMiB});
    seed('a', 2 * kMiB + 1);
    EXPECT_FALSE(said("found"));
    sharing_->obey("want " + root('a') + " " + std::to_string(2 * kMiB + 1));
    sharing_->obey("join " + root('a') + " http://t/announce");
    for (const char* index : {"0", "1", "2"})
        EXPECT_TRUE(said("found " + root('a') + " " + index));
    EXPECT_FALSE(said("found " + root('a') + " 3"));
    sharing_->obey("want " + root('b') + " " + std::to_string(7 * kMiB));
    EXPECT_FALSE(here('a')) << "it still makes room";
}

TEST_F(SharingTest, ADamagedSeedIsSharedNoMore) {
    start({});
    seed('a', 2 * kMiB);
    sharing_->save();
    start({});
    pass(seconds(1));
    EXPECT_TRUE(here('a')) << "it is looked through";
    torrents_.events = {{Torrents::Event::Kind::kChecked, root('a'), 0, ""}};
    pass(seconds(1));
    EXPECT_FALSE(here('a'));
    EXPECT_TRUE(said("ended " + root('a') + " its file is damaged"));
}

TEST_F(SharingTest, ForgedAndForeignFilesAreNotSeeded) {
    ASSERT_TRUE(
        write_file_atomic(dir_.path() / (root('a') + ".seed"), as_bytes("gym-seed-1 1 2")).ok());
    ASSERT_TRUE(write_file_atomic(dir_.path() / "notes.txt", as_bytes("mine")).ok());
    put('b', kMiB);
    ASSERT_TRUE(write_file_atomic(dir_.path() / (root('b') + ".seed"), as_bytes("nothing")).ok());
    start({});
    EXPECT_TRUE(torrents_.states.empty());
    EXPECT_FALSE(fs::exists(dir_.path() / (root('a') + ".seed")));
    EXPECT_TRUE(fs::exists(dir_.path() / "notes.txt"));
}

TEST_F(SharingTest, PiecesOfTheNodeAreGivenAFewAtATimeOnceTheFileIsChecked) {
    start({});
    sharing_->obey("want " + root('a') + " " + std::to_string(20 * kMiB + 5));
    put('a', 20 * kMiB + 5);
    sharing_->obey("join " + root('a') + " http://t/announce");
    for (int i = 20; i >= 0; --i)
        sharing_->obey("piece " + root('a') + " " + std::to_string(i));
    sharing_->obey("piece " + root('a') + " 21");
    pass(seconds(1));
    EXPECT_TRUE(torrents_.given.empty());
    EXPECT_TRUE(said("have " + root('a') + " c0"));
    torrents_.events = {{Torrents::Event::Kind::kPiece, root('a'), 1, ""},
                        {Torrents::Event::Kind::kChecked, root('a'), 0, ""}};
    pass(seconds(1));
    EXPECT_TRUE(said("found " + root('a') + " 1"));
    ASSERT_EQ(torrents_.given.size(), 8U);
    EXPECT_EQ(torrents_.given.front(), "a20:5");
    torrents_.events = {{Torrents::Event::Kind::kPiece, root('a'), 20, ""},
                        {Torrents::Event::Kind::kPiece, root('a'), 3, ""}};
    pass(seconds(1));
    EXPECT_EQ(torrents_.given.size(), 9U);
    EXPECT_FALSE(said("piece " + root('a') + " 20")) << "the node knows it";
    EXPECT_TRUE(said("piece " + root('a') + " 3"));
}

TEST_F(SharingTest, WhatIsNoLineChangesNothing) {
    start({});
    for (const char* line : {"", "want", "want x 5", "erase everything", "piece ../../etc 1"}) {
        said_.clear();
        sharing_->obey(line);
        EXPECT_TRUE(said("warn")) << line;
    }
    sharing_->obey("want " + root('a') + " many");
    sharing_->obey("piece " + root('b') + " 1");
    EXPECT_TRUE(torrents_.given.empty());
}

}  // namespace
}  // namespace gym::app
