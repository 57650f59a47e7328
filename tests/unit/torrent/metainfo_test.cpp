// The torrent of a blob: the same bytes as a program of another author makes, and one form alone.
#include "gym/torrent/metainfo.hpp"

#include <gtest/gtest.h>

#include "gym/blob/blob_store.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::torrent {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class BytesReader final : public blob::BlobReader {
  public:
    explicit BytesReader(Bytes bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
        return {};
    }

  private:
    const Bytes bytes_;
};

Bytes content(std::size_t size) {
    Bytes out(size);
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t inside = i % 65'536;
        out[i] =
            static_cast<std::uint8_t>(inside == 0 ? i / 65'536 : inside * inside + (inside >> 8U));
    }
    return out;
}

Digest root_of_test() {
    Digest out;
    out.data.fill(0xab);
    return out;
}

Metainfo made(std::size_t size) {
    return Metainfo::of(root_of_test(), BytesReader(content(size))).value();
}

Result<Metainfo> read(const Bytes& file, std::uint64_t size) {
    return Metainfo::decode(root_of_test(), size, file);
}

Bytes replaced(const Bytes& file, const std::string& what, const std::string& with) {
    std::string text(file.begin(), file.end());
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), with);
    return {text.begin(), text.end()};
}

// Made with Python's hashlib; libtorrent 2.0.8 reads them and gives these info hashes.
TEST(Metainfo, IsWhatOthersMakeOfTheSameBytes) {
    struct Vector {
        std::size_t size;
        const char* info_hash;
        const char* file;
    };
    for (const Vector& vector :
         {Vector{kMiB + 1, "d3f03efe5e6efc8691877755146db0e7a8ce0fbae812fa07ff00fa9165a190da",
                 "e06585fafc0467d4a355fbf309f6a1d0a988dc25895c54df268123e78c0bbc9c"},
          Vector{3 * kMiB, "670a2385caa39ee311d490fa058d816dc2498ddbca524c8b83d1eba5f11dc82d",
                 "ffe44daf6960e9593c44907a32cd241872a49e06280221a300612c3ad98ecf53"},
          Vector{5 * kMiB + 12'345,
                 "b03ae319b8809aabbf26e657eb03b7012dad9829476097c0b9974172cf6edd4f",
                 "6cec2d226d5de5fb69af507b5da4b498bbfa6aa0df8809d62140594f9b636ac3"}}) {
        const Metainfo metainfo = made(vector.size);
        EXPECT_EQ(to_hex(metainfo.info_hash().view()), vector.info_hash);
        EXPECT_EQ(to_hex(commit::sha256(metainfo.encode()).view()), vector.file);
    }
}

TEST(Metainfo, BlobsOfOnePieceHaveNone) {
    EXPECT_FALSE(is_shared(0));
    EXPECT_FALSE(is_shared(kMiB));
    EXPECT_TRUE(is_shared(kMiB + 1));
}

TEST(Metainfo, ReadsWhatItWritesAndForgetsTheMirror) {
    const Metainfo metainfo = made(2 * kMiB + 5);
    const Bytes plain = metainfo.encode();
    const Bytes named = metainfo.encode("http://mirror.example.org:7690");
    EXPECT_NE(plain, named);
    const std::string text(named.begin(), named.end());
    EXPECT_NE(text.find("8:announce39:http://mirror.example.org:7690/announce4:info"),
              std::string::npos);
    EXPECT_NE(text.find("8:url-list33:http://mirror.example.org:7690/b/e"), std::string::npos);
    for (const Bytes& file : {plain, named}) {
        const auto again = read(file, 2 * kMiB + 5);
        ASSERT_TRUE(again.ok()) << again.error().message;
        EXPECT_EQ(again->encode(), plain);
        EXPECT_EQ(again->info_hash(), metainfo.info_hash());
    }
}

TEST(Metainfo, RefusesAnotherBlobsTorrentAndSaysSo) {
    const Bytes file = made(2 * kMiB).encode();
    Digest other;
    other.data.fill(0xcd);
    const auto named = Metainfo::decode(other, 2 * kMiB, file);
    EXPECT_EQ(named.error().code, ErrorCode::kMismatch);
    EXPECT_NE(named.error().message.find("names another blob"), std::string::npos);
    EXPECT_NE(named.error().message.find(other.hex()), std::string::npos);
    const auto sized = read(file, 2 * kMiB + 1);
    EXPECT_EQ(sized.error().code, ErrorCode::kMismatch);
    EXPECT_NE(sized.error().message.find("is of 2097152 bytes, the blob has 2097153"),
              std::string::npos)
        << sized.error().message;
}

TEST(Metainfo, RefusesALayerThatIsNotOfItsRoot) {
    const Bytes file = made(2 * kMiB).encode();
    for (const std::size_t from_end : {std::size_t{3}, std::size_t{2 + 40}}) {
        Bytes broken = file;
        broken[broken.size() - from_end] ^= 1;
        const auto refused = read(broken, 2 * kMiB);
        EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
        EXPECT_NE(refused.error().message.find("piece layer"), std::string::npos);
    }
}

TEST(Metainfo, RefusesGarbageWithThePlace) {
    const Bytes file = made(2 * kMiB).encode();
    const auto refused = [](const Bytes& bytes) {
        const auto answer = read(bytes, 2 * kMiB);
        EXPECT_FALSE(answer.ok());
        return answer.ok() ? std::string() : answer.error().message;
    };
    EXPECT_NE(refused({}).find("byte 0 of 0"), std::string::npos);
    const std::string page = "<!DOCTYPE html><html>Welcome to the hotel</html>";
    EXPECT_NE(refused(Bytes(page.begin(), page.end())).find("byte 0 of 48: 'd' is expected"),
              std::string::npos);
    EXPECT_NE(refused(Bytes(1 << 20, 'd')).find("byte 1 of 1048576"), std::string::npos);
    for (std::size_t cut = 0; cut < file.size(); ++cut)
        refused(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(cut)));
    Bytes longer = file;
    longer.push_back('e');
    EXPECT_NE(refused(longer).find("behind its end"), std::string::npos);
    refused(replaced(file, "piece lengthi1048576e", "piece lengthi0524288e"));
    refused(replaced(file, "meta versioni2e", "meta versioni1e"));
    refused(replaced(file, "7:privatei1e", "7:privatei0e"));
    refused(replaced(file, "lengthi2097152e", "lengthi02097152e"));
    refused(replaced(file, "lengthi2097152e", "lengthi99999999999999999999e"));
    refused(replaced(file, "d4:info", "d8:announce9999:x4:info"));
    refused(replaced(file, "d4:info", "d8:announce-1:4:info"));
}

}  // namespace
}  // namespace gym::torrent
