#include "gym/protocol/uptime.hpp"

#include <gtest/gtest.h>

#include "gym/protocol/commitment.hpp"

namespace gym::protocol {
namespace {

class UptimeAnswerTest : public ::testing::Test {
  protected:
    static Digest digest(std::uint8_t byte) {
        Digest out;
        out.data.fill(byte);
        return out;
    }
    const crypto::PrivateKey key_ = crypto::PrivateKey::generate();
    const crypto::Eip712Domain domain_ = signing_domain(31'337, Address{});
    const UptimeChallenge challenge_ = {digest(7), 1'700'000'000'000, 1'700'000'020'000};
};

TEST_F(UptimeAnswerTest, TheNodesOwnAnswerIsTaken) {
    const UptimeAnswer answer = answer_uptime(domain_, key_, challenge_);
    EXPECT_EQ(answer.nonce, challenge_.nonce);
    EXPECT_TRUE(check_uptime(domain_, key_.address(), challenge_, answer).ok());
}

TEST_F(UptimeAnswerTest, DomainNodeNonceAndMomentAreAllSigned) {
    const UptimeAnswer answer = answer_uptime(domain_, key_, challenge_);
    const auto refused = [&](const crypto::Eip712Domain& domain, const Address& node,
                             const UptimeChallenge& challenge, const UptimeAnswer& given) {
        return check_uptime(domain, node, challenge, given).error().code ==
               ErrorCode::kUnauthenticated;
    };
    const Address stranger = crypto::PrivateKey::generate().address();
    EXPECT_TRUE(refused(signing_domain(1, Address{}), key_.address(), challenge_, answer));
    EXPECT_TRUE(refused(domain_, stranger, challenge_, answer));
    UptimeChallenge other = challenge_;
    other.nonce = digest(8);
    EXPECT_TRUE(refused(domain_, key_.address(), other, answer))
        << "the answer names another nonce";
    UptimeAnswer renamed = answer;
    renamed.nonce = other.nonce;
    EXPECT_TRUE(refused(domain_, key_.address(), other, renamed));
    other = challenge_;
    other.issued_ms += 1;
    EXPECT_TRUE(refused(domain_, key_.address(), other, answer));
    UptimeAnswer bent = answer;
    bent.signature.data[3] ^= 1;
    EXPECT_TRUE(refused(domain_, key_.address(), challenge_, bent));
}

}  // namespace
}  // namespace gym::protocol
