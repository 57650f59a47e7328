// Blobs encrypted at rest, in MB/s on one thread: sealing and opening files, and a store of sealed
// blobs. Peers, from the same run: OpenSSL's EVP AES-256-GCM on pieces of the same size in memory,
// and a store in the clear.
//
// Rows: vault/seal and vault/open (a file in the page cache, no fsync; the peer has no file),
// vault/put and vault/get (both stores check roots; puts are synced to the disk).
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/vault/sealed_file.hpp"
#include "gym/vault/sealed_store.hpp"

namespace {

using namespace gym;
using gym::bench::give_up;
using gym::bench::must;

constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

/// One key, a context that is made once, a nonce for each piece: nothing but the cipher.
class RawGcm {
  public:
    void encrypt(ByteView plain, std::span<std::uint8_t> out) {
        for (std::size_t at = 0; at < plain.size(); at += vault::kPieceBytes) {
            const std::size_t size = std::min(vault::kPieceBytes, plain.size() - at);
            nonce_[0] = static_cast<std::uint8_t>(at / vault::kPieceBytes);
            int done = 0;
            const bool sealed = EVP_EncryptInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr,
                                                   key_.data(), nonce_.data()) == 1 &&
                                EVP_EncryptUpdate(context_.get(), out.data() + at, &done,
                                                  plain.data() + at, static_cast<int>(size)) == 1 &&
                                EVP_EncryptFinal_ex(context_.get(), tag_.data(), &done) == 1 &&
                                EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                                                    tag_.data()) == 1;
            if (!sealed) give_up("EVP encryption failed");
        }
    }

  private:
    std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_{EVP_CIPHER_CTX_new(),
                                                                        EVP_CIPHER_CTX_free};
    std::array<std::uint8_t, vault::kStoreKeyBytes> key_{};
    std::array<std::uint8_t, kNonceBytes> nonce_{};
    std::array<std::uint8_t, kTagBytes> tag_{};
};

void compare(const bench::Options& options, const std::string& name, const std::string& peer,
             const std::string& note, const std::vector<std::function<void()>>& calls) {
    const auto seconds = bench::interleaved_seconds(calls, options.repeats);
    bench::report(options, {.name = "vault/" + name,
                            .ours = kBytes / seconds[0] * 1e-6,
                            .peer = kBytes / seconds[1] * 1e-6,
                            .ratio = seconds[1] / seconds[0],
                            .unit = "MB/s",
                            .threads = 1,
                            .isa = std::string(isa_name(options.isa)),
                            .peer_name = peer,
                            .note = note});
}

void files(const bench::Options& options, const std::filesystem::path& folder, const Bytes& data) {
    const vault::StoreKey key = vault::StoreKey::random();
    const Digest root = blob::blob_root(data);
    const auto file = folder / "sealed";
    Bytes out(data.size());
    RawGcm raw;
    const auto encrypt = [&] { raw.encrypt(data, out); };
    const auto seal = [&] {
        auto writer = must(vault::SealWriter::create(file, key, root, data.size()));
        must(writer.append(data));
        must(writer.flush());
    };
    const std::string peer = "OpenSSL EVP AES-256-GCM, 64 KiB a call, in memory";
    if (options.wants("seal")) compare(options, "seal", peer, "to a file", {seal, encrypt});
    seal();
    // GCM decrypts with the work of encryption.
    const auto open = [&] {
        const auto reader = must(vault::open_sealed(file, key, root));
        must(reader->read(0, out));
    };
    if (options.wants("open")) compare(options, "open", peer, "from a file", {open, encrypt});
    if (options.wants("open") && out.empty()) give_up("nothing was read");
}

void stores(const bench::Options& options, const std::filesystem::path& folder, const Bytes& data) {
    auto sealed =
        must(vault::SealedStore::open(folder / "sealed-store", vault::StoreKey::random()));
    auto plain = must(blob::DirectoryStore::open(folder / "plain-store"));
    const auto put = [&data](blob::BlobStore& store) { must(store.remove(must(store.put(data)))); };
    const std::string peer = "DirectoryStore, in the clear";
    if (options.wants("put"))
        compare(options, "put", peer, "root, file, fsync, remove",
                {[&] { put(sealed); }, [&] { put(plain); }});
    const Digest root = must(sealed.put(data));
    must(plain.put(data));
    const auto get = [&root](const blob::BlobStore& store) {
        if (must(store.get(root)).size() != kBytes) give_up("another size");
    };
    if (options.wants("get"))
        compare(options, "get", peer, "file, root", {[&] { get(sealed); }, [&] { get(plain); }});
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    const auto folder = must(TemporaryFolder::create("gym-bench-vault-"));
    Bytes data(kBytes);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13);
    files(options, folder.path(), data);
    stores(options, folder.path(), data);
    return 0;
}
