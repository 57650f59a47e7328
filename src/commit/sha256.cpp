#include "gym/commit/sha256.hpp"

#include <openssl/evp.h>

#include <array>

#include "gym/common/assert.hpp"

namespace gym::commit {
namespace {

// Fetched once: an implicit fetch per digest costs more than hashing a tree node.
const EVP_MD* algorithm() {
    static EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    GYM_ASSERT(md != nullptr, "OpenSSL has no SHA-256");
    return md;
}

}  // namespace

struct Hasher::Impl {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    bool started = false;

    Impl() { GYM_ASSERT(context != nullptr, "out of memory"); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() { EVP_MD_CTX_free(context); }

    void start() {
        if (started) return;
        GYM_ASSERT(EVP_DigestInit_ex2(context, algorithm(), nullptr) == 1, "SHA-256 did not start");
        started = true;
    }
};

Hasher::Hasher() : impl_(std::make_unique<Impl>()) {}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

Hasher& Hasher::update(ByteView bytes) {
    impl_->start();
    GYM_ASSERT(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1, "SHA-256 failed");
    return *this;
}

Hasher& Hasher::update_u8(std::uint8_t value) {
    return update(ByteView(&value, 1));
}

Hasher& Hasher::update_u64(std::uint64_t value) {
    std::array<std::uint8_t, 8> bytes;
    for (int i = 7; i >= 0; --i, value >>= 8)
        bytes[i] = static_cast<std::uint8_t>(value);
    return update(bytes);
}

Digest Hasher::finish() {
    impl_->start();  // the digest of nothing is a digest too
    Digest out;
    unsigned size = 0;
    GYM_ASSERT(EVP_DigestFinal_ex(impl_->context, out.data.data(), &size) == 1, "SHA-256 failed");
    GYM_ASSERT(size == Digest::kSize, "SHA-256 gave another size");
    impl_->started = false;
    return out;
}

Digest sha256(ByteView bytes) {
    thread_local Hasher hasher;
    return hasher.update(bytes).finish();
}

}  // namespace gym::commit
