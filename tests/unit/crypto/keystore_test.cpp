#include "gym/crypto/keystore.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "ethereum_vectors.hpp"
#include "gym/common/file.hpp"

namespace gym::crypto {
namespace {

namespace fs = std::filesystem;

class KeystoreTest : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("gym-keystore-" + to_hex(random_digest().view()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path folder_;
    const SecretBytes passphrase_{std::string_view("correct horse")};
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

const std::string& cast_keystore() {
    static const std::string text =
        testing::text_at(testing::ethereum_vectors().at("keystore"), "json");
    return text;
}

TEST_F(KeystoreTest, OpensWhatCastSealed) {
    const auto& vector = testing::ethereum_vectors().at("keystore");
    const PrivateKey key = decrypt_keystore(cast_keystore(), passphrase_).value();
    EXPECT_EQ(to_hex0x(key.reveal().view()), testing::text_at(vector, "key"));
}

TEST_F(KeystoreTest, RoundTripsThroughAFileThatOnlyTheOwnerReads) {
    const PrivateKey key = PrivateKey::generate();
    const fs::path path = folder_ / "node.json";
    ASSERT_TRUE(save_keystore(path, key, passphrase_, ScryptCost::light()).ok());
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_EQ(load_keystore(path, passphrase_).value().address(), key.address());
    EXPECT_EQ(keystore_address(path).value(), key.address());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1)
        << "no temporary file stays behind";
    const Bytes content = read_file(path).value();
    const std::string text(content.begin(), content.end());
    EXPECT_EQ(text.find(to_hex(key.reveal().view())), std::string::npos);
}

TEST_F(KeystoreTest, NeverOverwritesAKey) {
    const fs::path path = folder_ / "node.json";
    const PrivateKey first = PrivateKey::generate();
    ASSERT_TRUE(save_keystore(path, first, passphrase_, ScryptCost::light()).ok());
    const Status second =
        save_keystore(path, PrivateKey::generate(), passphrase_, ScryptCost::light());
    EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
    EXPECT_EQ(load_keystore(path, passphrase_).value().address(), first.address());
}

TEST_F(KeystoreTest, AWrongPassphraseIsSaidSo) {
    const auto opened = decrypt_keystore(cast_keystore(), SecretBytes(std::string_view("wrong")));
    EXPECT_EQ(opened.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(opened.error().message.find("wrong passphrase"), std::string::npos);
}

TEST_F(KeystoreTest, AnAlteredCiphertextIsNoticed) {
    std::string text = cast_keystore();
    const std::size_t at = text.find("\"ciphertext\":\"") + 14;
    text[at] = text[at] == '0' ? '1' : '0';
    EXPECT_EQ(decrypt_keystore(text, passphrase_).error().code, ErrorCode::kPermissionDenied);
}

TEST_F(KeystoreTest, RefusesCostsThatWouldExhaustTheReader) {
    const auto code = [&](const std::string& from, const std::string& to) {
        return decrypt_keystore(replaced(cast_keystore(), from, to), passphrase_).error().code;
    };
    EXPECT_EQ(code("\"n\":8192", "\"n\":1073741824"), ErrorCode::kOutOfRange);
    EXPECT_EQ(code("\"n\":8192", "\"n\":8191"), ErrorCode::kOutOfRange);
    EXPECT_EQ(code("\"n\":8192", "\"n\":0"), ErrorCode::kOutOfRange);
    EXPECT_EQ(code("\"n\":8192", "\"n\":99999999999"), ErrorCode::kOutOfRange);
    EXPECT_EQ(code("\"r\":8", "\"r\":4294967295"), ErrorCode::kOutOfRange);
    EXPECT_EQ(code("\"p\":1", "\"p\":4294967295"), ErrorCode::kOutOfRange);
    EXPECT_EQ(code("\"p\":1", "\"p\":0"), ErrorCode::kOutOfRange);
    EXPECT_EQ(code("\"n\":8192", "\"n\":-8192"), ErrorCode::kMalformed);
}

TEST_F(KeystoreTest, RefusesOtherForms) {
    const auto code = [&](const std::string& text) {
        return decrypt_keystore(text, passphrase_).error().code;
    };
    EXPECT_EQ(code("not json"), ErrorCode::kMalformed);
    EXPECT_EQ(code("[]"), ErrorCode::kMalformed);
    EXPECT_EQ(code("{}"), ErrorCode::kMalformed);
    EXPECT_EQ(code(replaced(cast_keystore(), "\"version\":3", "\"version\":1")),
              ErrorCode::kMalformed);
    EXPECT_EQ(code(replaced(cast_keystore(), "aes-128-ctr", "aes-128-cbc")), ErrorCode::kMalformed);
    EXPECT_EQ(code(replaced(cast_keystore(), "\"scrypt\"", "\"pbkdf2\"")), ErrorCode::kMalformed);
    EXPECT_EQ(code(replaced(cast_keystore(), "\"dklen\":32", "\"dklen\":16")),
              ErrorCode::kMalformed);
    EXPECT_EQ(code(replaced(cast_keystore(), "\"mac\":\"", "\"mac\":\"zz")), ErrorCode::kMalformed);
    EXPECT_EQ(code(cast_keystore() + std::string(20'000, ' ')), ErrorCode::kMalformed);
}

TEST_F(KeystoreTest, AForeignAddressIsNoticed) {
    const PrivateKey key = PrivateKey::generate();
    const std::string text = encrypt_keystore(key, passphrase_, ScryptCost::light()).value();
    const std::string address = to_hex(key.address().view());
    const std::string other = (address[0] == '0' ? "1" : "0") + address.substr(1);
    EXPECT_EQ(decrypt_keystore(replaced(text, address, other), passphrase_).error().code,
              ErrorCode::kMismatch);
}

TEST_F(KeystoreTest, RefusesAnEmptyPassphraseAndAMissingFile) {
    EXPECT_EQ(encrypt_keystore(PrivateKey::generate(), SecretBytes()).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(load_keystore(folder_ / "none.json", passphrase_).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::crypto
