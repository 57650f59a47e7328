#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// The language of a node and its gym-torrent: lines of words, over one socket, which is the
/// program's standard input and output. ROOT has 64 lower-case hexadecimal digits. The bytes are in
/// files of the folder that both have: ROOT, with holes where pieces are absent, and ROOT.torrent.
///
/// | node says | |
/// |---|---|
/// | `want ROOT SIZE` | make room for a blob, and keep away from its file |
/// | `join ROOT TRACKER` | ROOT.torrent is there: look for peers, seed when all is there |
/// | `piece ROOT INDEX` | the node wrote this piece into the file |
/// | `leave ROOT` | the node stopped before all was there: keep its pieces, look no further |
/// | `drop ROOT` | erase it |
///
/// | gym-torrent says | |
/// |---|---|
/// | `ready PORT` | it listens; before anything else |
/// | `full ROOT` | there is no room: the answer to `want` |
/// | `found ROOT INDEX` | a piece that was in the file before |
/// | `piece ROOT INDEX` | a piece that a peer sent is in the file and fits the torrent |
/// | `have ROOT BITS` | pieces that connected peers have, in hexadecimal, the first is the highest
/// bit | | `count SENT PEERS TORRENTS` | bytes to peers since it began; peers that are connected |
/// | `ended ROOT WHY` | it is not shared any more, and erased |
/// | `warn TEXT` | for the log |
namespace gym::torrent {

inline constexpr std::size_t kLineBytesMax = 128 << 10;
inline constexpr std::size_t kRootDigits = 64;

/// At most `most` words; the last one is the rest of the line.
[[nodiscard]] inline std::vector<std::string_view> words(std::string_view line, std::size_t most) {
    std::vector<std::string_view> out;
    while (out.size() + 1 < most) {
        const std::size_t space = line.find(' ');
        if (space == std::string_view::npos) break;
        out.push_back(line.substr(0, space));
        line.remove_prefix(space + 1);
    }
    out.push_back(line);
    return out;
}

[[nodiscard]] inline std::optional<std::uint64_t> whole_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

[[nodiscard]] inline bool is_root(std::string_view text) {
    return text.size() == kRootDigits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace gym::torrent
