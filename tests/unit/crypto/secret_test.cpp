#include "gym/crypto/secret.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "gym/common/file.hpp"

namespace gym::crypto {
namespace {

namespace fs = std::filesystem;

class SecretFileTest : public ::testing::Test {
  protected:
    fs::path write(std::string_view content, unsigned mode) {
        EXPECT_TRUE(write_file_atomic(path_, as_bytes(content), mode).ok());
        return path_;
    }
    void TearDown() override { fs::remove(path_); }
    fs::path path_ = fs::temp_directory_path() / ("gym-secret-" + to_hex(random_digest().view()));
};

std::string text_of(const SecretBytes& secret) {
    return std::string(secret.view().begin(), secret.view().end());
}

TEST_F(SecretFileTest, ReadsTheFirstLine) {
    EXPECT_EQ(text_of(read_secret_file(write("pass phrase\nnote\n", 0600)).value()), "pass phrase");
}

TEST_F(SecretFileTest, AcceptsAFileWithoutLineEndAndDosLineEnds) {
    EXPECT_EQ(text_of(read_secret_file(write("pass", 0400)).value()), "pass");
    EXPECT_EQ(text_of(read_secret_file(write("pass\r\n", 0600)).value()), "pass");
}

TEST_F(SecretFileTest, RefusesAFileThatOthersMayRead) {
    for (const unsigned mode : {0644U, 0640U, 0604U, 0666U})
        EXPECT_EQ(read_secret_file(write("pass\n", mode)).error().code,
                  ErrorCode::kPermissionDenied);
}

TEST_F(SecretFileTest, AServicesCredentialsMayBeReadableByTheGroupAndNobodyElse) {
    ::setenv("CREDENTIALS_DIRECTORY", path_.parent_path().c_str(), 1);
    EXPECT_EQ(text_of(read_secret_file(write("pass\n", 0440)).value()), "pass");
    for (const unsigned mode : {0460U, 0444U, 0450U})
        EXPECT_EQ(read_secret_file(write("pass\n", mode)).error().code,
                  ErrorCode::kPermissionDenied);
    ::setenv("CREDENTIALS_DIRECTORY", "/run/credentials/other.service", 1);
    EXPECT_FALSE(read_secret_file(write("pass\n", 0440)).ok());
    ::unsetenv("CREDENTIALS_DIRECTORY");
    EXPECT_FALSE(read_secret_file(write("pass\n", 0440)).ok());
}

TEST_F(SecretFileTest, RefusesAnEmptyLineAMissingAndALongFile) {
    EXPECT_EQ(read_secret_file(write("\npass\n", 0600)).error().code, ErrorCode::kMalformed);
    EXPECT_FALSE(read_secret_file(write(std::string(5000, 'x'), 0600)).ok());
    EXPECT_EQ(read_secret_file("/nonexistent/secret").error().code, ErrorCode::kNotFound);
}

TEST(Secret, RandomDigestsDiffer) {
    EXPECT_NE(random_digest(), random_digest());
    EXPECT_FALSE(random_digest().is_zero());
}

TEST(Secret, ComparesContentAndSize) {
    const Bytes a{1, 2, 3};
    EXPECT_TRUE(equal_constant_time(a, Bytes{1, 2, 3}));
    EXPECT_FALSE(equal_constant_time(a, Bytes{1, 2, 4}));
    EXPECT_FALSE(equal_constant_time(a, Bytes{1, 2}));
    EXPECT_TRUE(equal_constant_time({}, {}));
}

TEST(Secret, ClearWritesZeros) {
    Bytes bytes{1, 2, 3};
    secure_clear(bytes);
    EXPECT_EQ(bytes, (Bytes{0, 0, 0}));
}

}  // namespace
}  // namespace gym::crypto
