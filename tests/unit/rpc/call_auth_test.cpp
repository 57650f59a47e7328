#include "gym/rpc/call_auth.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gym/commit/sha256.hpp"
#include "gym/protocol/commitment.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

class CallAuthTest : public ::testing::Test {
  protected:
    static constexpr UnixMs kNow = 1'700'000'000'000;
    const crypto::Eip712Domain domain_ = protocol::signing_domain(31337, {});
    const crypto::PrivateKey key_ = testing::test_key(1);
    const Bytes request_{1, 2, 3};
    CallAuth auth_ = sign_call(domain_, "GetUnit", request_, key_, kNow);
    ReplayGuard guard_;

    Status check(const CallAuth& auth, UnixMs now_ms = kNow) {
        return check_call(domain_, "GetUnit", request_, auth, now_ms, guard_);
    }
    static bool refused(const Status& status) {
        return !status.ok() && status.error().code == ErrorCode::kUnauthenticated;
    }
};

TEST_F(CallAuthTest, AnHonestCallPassesOnce) {
    EXPECT_TRUE(check(auth_).ok());
    const Status again = check(auth_);
    ASSERT_TRUE(refused(again));
    EXPECT_NE(again.error().message.find("replayed"), std::string::npos);
}

TEST_F(CallAuthTest, TheNextCallOfTheSameKeyHasAnotherNonce) {
    EXPECT_TRUE(check(auth_).ok());
    EXPECT_TRUE(check(sign_call(domain_, "GetUnit", request_, key_, kNow)).ok());
}

TEST_F(CallAuthTest, MethodRequestDomainTimeNonceAndCallerAreAllSigned) {
    EXPECT_TRUE(refused(check_call(domain_, "Register", request_, auth_, kNow, guard_)));
    EXPECT_TRUE(refused(check_call(domain_, "GetUnit", Bytes{1, 2}, auth_, kNow, guard_)));
    const auto other_chain = protocol::signing_domain(1, {});
    EXPECT_TRUE(refused(check_call(other_chain, "GetUnit", request_, auth_, kNow, guard_)));
    CallAuth altered = auth_;
    altered.unix_ms += 1;
    EXPECT_TRUE(refused(check(altered)));
    altered = auth_;
    altered.nonce.data[0] ^= 1;
    EXPECT_TRUE(refused(check(altered)));
    altered = auth_;
    altered.caller = testing::test_key(2).address();
    EXPECT_TRUE(refused(check(altered)));
    EXPECT_TRUE(check(auth_).ok()) << "none of the refused calls used up the nonce";
}

TEST_F(CallAuthTest, TheSignatureIsCheckedBeforeTheRequestIsThere) {
    EXPECT_TRUE(check_signature(domain_, "GetUnit", auth_).ok());
    EXPECT_TRUE(check_request(auth_, request_).ok());
    EXPECT_TRUE(refused(check_request(auth_, Bytes{1, 2})));
    CallAuth altered = auth_;
    altered.request_hash = commit::sha256(Bytes{1, 2});
    EXPECT_TRUE(refused(check_signature(domain_, "GetUnit", altered)));
}

TEST_F(CallAuthTest, EveryFlippedBitOfTheEncodingIsRefused) {
    const Bytes whole = encode(auth_);
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        Bytes altered = whole;
        altered[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        EXPECT_TRUE(refused(check(decode_call_auth(altered).value()))) << bit;
    }
    EXPECT_TRUE(check(decode_call_auth(whole).value()).ok());
    EXPECT_FALSE(decode_call_auth(ByteView(whole).first(whole.size() - 1)).ok());
}

TEST_F(CallAuthTest, OldAndFutureCallsAreRefusedWithTheClockNamed) {
    EXPECT_TRUE(check(auth_, kNow + kAuthSkewMsMax).ok());
    const Status old = check(auth_, kNow + kAuthSkewMsMax + 1);
    ASSERT_TRUE(refused(old));
    EXPECT_NE(old.error().message.find("clock"), std::string::npos);
    EXPECT_TRUE(refused(check(auth_, kNow - kAuthSkewMsMax - 1)));
    for (const UnixMs extreme :
         {std::numeric_limits<UnixMs>::min(), UnixMs{-1}, std::numeric_limits<UnixMs>::max()})
        EXPECT_TRUE(refused(check(sign_call(domain_, "GetUnit", request_, key_, extreme))));
}

TEST_F(CallAuthTest, ANonceIsRememberedAsLongAsItsCallIsFresh) {
    const CallAuth ahead = sign_call(domain_, "GetUnit", request_, key_, kNow + kAuthSkewMsMax);
    EXPECT_TRUE(check(ahead).ok());
    const UnixMs last_fresh = kNow + 2 * kAuthSkewMsMax;
    EXPECT_TRUE(refused(check(ahead, last_fresh)));
}

TEST_F(CallAuthTest, OneCallerCannotPushOutTheNoncesOfAnother) {
    ASSERT_TRUE(check(auth_).ok());
    const Address flooder = testing::test_key(3).address();
    for (std::size_t i = 0; i < ReplayGuard::kNoncesPerCallerMax; ++i)
        ASSERT_TRUE(guard_.admit(flooder, crypto::random_digest(), kNow, kNow).ok());
    EXPECT_EQ(guard_.admit(flooder, crypto::random_digest(), kNow, kNow).error().code,
              ErrorCode::kUnavailable);
    EXPECT_TRUE(refused(check(auth_)));
    const UnixMs later = kNow + 3 * kAuthSkewMsMax;
    EXPECT_TRUE(guard_.admit(flooder, crypto::random_digest(), later, later).ok());
}

}  // namespace
}  // namespace gym::rpc
