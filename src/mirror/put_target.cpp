#include "put_target.hpp"

#include <algorithm>
#include <limits>

namespace gym::mirror {
namespace {

constexpr std::uint64_t kTimeoutMs = 60'000;
constexpr std::uint64_t kBytesPerMsMin = 1'000;
constexpr std::size_t kDetailBytesMax = 300;

}  // namespace

std::string put_target(const http::Url& at, const Digest& root) {
    std::string out = at.target;
    while (out.ends_with('/'))
        out.pop_back();
    return out + "/b/" + to_hex(root.view());
}

std::uint32_t put_ms_max(std::uint64_t size_bytes) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(
        kTimeoutMs + size_bytes / kBytesPerMsMin, std::numeric_limits<std::uint32_t>::max()));
}

bool is_ours(const http::Reply& reply) {
    return reply.header("content-type").starts_with("application/json");
}

std::string detail_of(const http::Reply& reply) {
    std::string text = reply.body.substr(0, kDetailBytesMax);
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c > 0x7E; }, ' ');
    return "it answers " + std::to_string(reply.status) + " " + text;
}

}  // namespace gym::mirror
