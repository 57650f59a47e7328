#include "gym/crypto/keccak.hpp"

#include <cryptopp/keccak.h>

namespace gym::crypto {

Digest keccak256(std::initializer_list<ByteView> parts) {
    CryptoPP::Keccak_256 hash;
    for (const ByteView part : parts)
        hash.Update(part.data(), part.size());
    Digest out;
    hash.Final(out.data.data());
    return out;
}

Digest keccak256(ByteView bytes) {
    return keccak256({bytes});
}

Digest keccak256_text(std::string_view text) {
    return keccak256(as_bytes(text));
}

}  // namespace gym::crypto
