#include "gym/torrent/tracker.hpp"

#include <gtest/gtest.h>

namespace gym::torrent {
namespace {

using std::chrono::seconds;

Digest hash_of(std::uint8_t byte) {
    Digest out;
    out.data.fill(byte);
    return out;
}

std::string escaped(std::uint8_t byte) {
    const char digits[] = "0123456789abcdef";
    std::string out;
    for (int i = 0; i < 20; ++i)
        out += {'%', digits[byte >> 4U], digits[byte & 15U]};
    return out;
}

class TrackerTest : public ::testing::Test {
  protected:
    TrackerTest() { tracker_.add(hash_of(0x1f)); }
    static TrackerOptions options() {
        TrackerOptions out;
        out.torrents_max = 3;
        out.peers_max = 10;
        out.peers_of_address_max = 4;
        out.answered_max = 3;
        return out;
    }
    std::string ask(const std::string& address, int port, const std::string& more = "&left=5",
                    std::uint8_t hash = 0x1f) {
        return tracker_.answer(
            "info_hash=" + escaped(hash) + "&peer_id=x&port=" + std::to_string(port) + more,
            address, now_);
    }
    static bool refuses(const std::string& answer) { return answer.starts_with("d14:failure"); }

    Tracker::Moment now_ = Tracker::Moment{} + seconds(1'000);
    Tracker tracker_{options(), 1};
};

TEST_F(TrackerTest, NamesThePeersOfATorrentCompactAndNotTheAsker) {
    EXPECT_EQ(ask("10.0.0.1", 7'691),
              "d8:completei0e10:incompletei1e8:intervali120e12:min intervali30e5:peers0:e");
    EXPECT_EQ(ask("10.0.0.2", 7'682, "&left=0&event=completed"),
              "d8:completei1e10:incompletei1e8:intervali120e12:min intervali30e5:peers6:" +
                  std::string("\x0a\0\0\x01\x1e\x0b", 6) + "e");
    const std::string six = ask("2001:db8::7", 7'691);
    EXPECT_NE(six.find("5:peers12:"), std::string::npos);
    EXPECT_EQ(six.find("6:peers6"), std::string::npos);
    const std::string mapped = ask("::ffff:10.0.0.1", 7'691);
    EXPECT_NE(mapped.find("incompletei2e"), std::string::npos) << "the first one again";
    EXPECT_NE(mapped.find("6:peers618:"), std::string::npos);
}

TEST_F(TrackerTest, ForgetsThoseThatStopAndThoseThatSayNothing) {
    ask("10.0.0.1", 2'000);
    ask("10.0.0.2", 2'000);
    EXPECT_EQ(tracker_.peers(), 2U);
    EXPECT_NE(ask("10.0.0.2", 2'000, "&event=stopped").find("5:peers0:"), std::string::npos);
    EXPECT_EQ(tracker_.peers(), 1U);
    now_ += seconds(299);
    EXPECT_NE(ask("10.0.0.3", 2'000).find("5:peers6:"), std::string::npos);
    now_ += seconds(2);
    EXPECT_NE(ask("10.0.0.3", 2'000).find("5:peers0:"), std::string::npos);
    EXPECT_EQ(tracker_.peers(), 1U);
}

TEST_F(TrackerTest, KnowsNoOtherTorrentsThanThoseOfTheMirror) {
    EXPECT_TRUE(refuses(ask("10.0.0.1", 2'000, "&left=5", 0x2f)));
    EXPECT_EQ(tracker_.peers(), 0U);
}

TEST_F(TrackerTest, RefusesWhatIsNoQuestion) {
    for (const int port : {0, 80, 1'023, 65'536, 700'000})
        EXPECT_TRUE(refuses(ask("10.0.0.1", port))) << port;
    EXPECT_TRUE(refuses(ask("not an address", 2'000)));
    for (const std::string query : {"", "info_hash=short&port=2000", "info_hash=%zz&port=2000",
                                    "info_hash=%1", "port=2000", "&&&==&", "info_hash"})
        EXPECT_TRUE(refuses(tracker_.answer(query, "10.0.0.9", now_))) << query;
    EXPECT_TRUE(refuses(tracker_.answer(std::string(5'000, 'a'), "10.0.0.9", now_)));
    // The address in the question is not the one that counts.
    EXPECT_FALSE(refuses(ask("10.0.0.1", 2'000, "&left=1&ip=192.0.2.1")));
    EXPECT_NE(ask("10.0.0.2", 2'000).find(std::string("\x0a\0\0\x01", 4)), std::string::npos);
    EXPECT_EQ(tracker_.peers(), 2U);
}

TEST_F(TrackerTest, IsBoundedInPeersOfAllAndOfOneAddress) {
    for (int i = 0; i < 4; ++i)
        EXPECT_FALSE(refuses(ask("10.0.0.1", 2'000 + i)));
    EXPECT_TRUE(refuses(ask("10.0.0.1", 2'004)));
    EXPECT_FALSE(refuses(ask("10.0.0.1", 2'003))) << "one that is known";
    for (int i = 0; i < 6; ++i)
        EXPECT_FALSE(refuses(ask("10.0.1." + std::to_string(i), 2'000)));
    EXPECT_TRUE(refuses(ask("10.0.2.1", 2'000)));
    EXPECT_EQ(tracker_.peers(), 10U);
    const std::string answer = ask("10.0.0.1", 2'003);
    EXPECT_NE(answer.find("5:peers18:"), std::string::npos) << "three at most";
    EXPECT_NE(ask("10.0.0.1", 2'003, "&numwant=1").find("5:peers6:"), std::string::npos);
    now_ += seconds(301);
    EXPECT_FALSE(refuses(ask("10.0.2.1", 2'000))) << "the others have expired";
}

TEST_F(TrackerTest, IsBoundedInTorrents) {
    ask("10.0.0.1", 2'000);
    tracker_.add(hash_of(0x20));
    tracker_.add(hash_of(0x21));
    ask("10.0.0.1", 2'000);
    tracker_.add(hash_of(0x22));
    EXPECT_EQ(tracker_.torrents(), 3U);
    EXPECT_TRUE(refuses(ask("10.0.0.1", 2'000, "&left=5", 0x20))) << "asked for longest ago";
    EXPECT_FALSE(refuses(ask("10.0.0.1", 2'000)));
    tracker_.add(hash_of(0x23));
    tracker_.add(hash_of(0x24));
    tracker_.add(hash_of(0x25));
    EXPECT_EQ(tracker_.peers(), 0U) << "they end with their torrent";
}

TEST_F(TrackerTest, IsBoundedInQuestionsASecond) {
    int answered = 0;
    for (int i = 0; i < 100; ++i)
        answered += refuses(ask("10.0.0.1", 2'000)) ? 0 : 1;
    EXPECT_EQ(answered, 40);
    EXPECT_FALSE(refuses(ask("10.0.0.2", 2'000))) << "another address";
    now_ += seconds(1);
    EXPECT_FALSE(refuses(ask("10.0.0.1", 2'000)));
    EXPECT_EQ(tracker_.refused(), 60U);
}

}  // namespace
}  // namespace gym::torrent
