// Data and models that are not public: to whom they exist, and which nodes may fetch their bytes.
#include "gym/protocol/reason.hpp"
#include "gym/registry/blob_access.hpp"
#include "gym/registry/dataset_names.hpp"
#include "registry_fixture.hpp"

namespace gym::registry::testing {
namespace {

class PrivateData : public RegistryDatabase {
  protected:
    Digest add(std::uint64_t n, const Access& access, const std::optional<Digest>& nearest = {}) {
        Dataset dataset;
        dataset.root = digest(n);
        dataset.blob = digest(n + 1'000);
        dataset.owner = address(1);
        dataset.name = "text";
        dataset.tokens = 100;
        dataset.vocabulary = 256;
        dataset.licence = "CC0-1.0";
        dataset.sample.emplace();
        dataset.access = access;
        if (nearest) dataset.nearest = NearestDataset{*nearest, 10};
        const Status added = api->transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(register_dataset(tx, dataset));
            return {};
        });
        EXPECT_TRUE(added.ok()) << added.error().message;
        return dataset.root;
    }
    template <class F>
    auto read(F&& body) {
        return api->transact(std::forward<F>(body), {.read_only = true});
    }
    Result<Dataset> find(const Digest& root, const Viewer& viewer) {
        return read([&](db::Transaction& tx) { return get_dataset(tx, root, viewer); });
    }
    /// As the coordinator asks. @param since of tasks that are over.
    bool may_fetch(std::uint8_t node, const Digest& blob, UnixMs since = kNow) {
        const auto may = coordinator->transact(
            [&](db::Transaction& tx) { return may_fetch_blob(tx, address(node), blob, since); });
        EXPECT_TRUE(may.ok()) << may.error().message;
        return may.ok() && *may;
    }
    Status set_access(const Digest& root, std::uint8_t owner, const Access& access) {
        return api->transact([&](db::Transaction& tx) {
            return set_dataset_access(tx, root, address(owner), access);
        });
    }
    void hide_text() { ASSERT_TRUE(set_access(digest(1), 1, kPrivate).ok()); }

    const Access kPublic{Visibility::kPublic, {}};
    const Access kPrivate{Visibility::kPrivate, {}};
    const Access kList{Visibility::kAllowList, {address(2), address(3)}};
};

TEST_F(PrivateData, TheStatementsHaveTheRuleOfTheViewer) {
    const std::vector<Access> all{kPublic, kPrivate, kList, {Visibility::kAllowList, {}}};
    std::vector<Viewer> viewers{Viewer::service(), Viewer::account({})};
    for (std::uint8_t n = 1; n <= 4; ++n)
        viewers.push_back(Viewer::account(address(n)));
    for (std::size_t i = 0; i < all.size(); ++i)
        add(50 + i, all[i]);
    for (const Viewer& viewer : viewers) {
        std::size_t seen = 1;  // the fixture's
        for (std::size_t i = 0; i < all.size(); ++i) {
            const bool may = viewer.may_see(all[i], address(1));
            seen += may ? 1 : 0;
            const auto found = find(digest(50 + i), viewer);
            EXPECT_EQ(found.ok(), may) << i;
            EXPECT_EQ(found.ok() ? found->access : all[i], all[i]);
        }
        const auto listed = read([&](db::Transaction& tx) {
            return list_datasets(tx, DatasetFilter{.viewer = viewer});
        });
        EXPECT_EQ(listed.value().size(), seen);
    }
}

TEST_F(PrivateData, AHiddenDatasetIsAsOneThatDoesNotExist) {
    const Digest root = add(50, kPrivate);
    const auto stranger = Viewer::account(address(2));
    const Error hidden = find(root, stranger).error();
    const Error absent = find(digest(51), stranger).error();
    EXPECT_EQ(hidden.code, ErrorCode::kNotFound);
    EXPECT_EQ(hidden.message, "dataset " + root.hex() + " is not registered");
    EXPECT_EQ(absent.message, "dataset " + digest(51).hex() + " is not registered");
    EXPECT_EQ(set_access(root, 2, kPublic).error().message, hidden.message);
    EXPECT_EQ(set_access(digest(1), 2, kPrivate).error().code, ErrorCode::kPermissionDenied)
        << "a public one of another owner";
}

TEST_F(PrivateData, TheNearestIsNamedToThoseWhoMaySeeIt) {
    const Digest first = add(50, kPrivate);
    const Digest second = add(51, kPublic, first);
    EXPECT_EQ(find(second, Viewer::account(address(1)))->nearest->root, first);
    EXPECT_FALSE(find(second, Viewer::account(address(2)))->nearest);
}

TEST_F(PrivateData, ANameShowsTheVersionsThatOneMaySee) {
    const Digest open = add(50, kPublic), hidden = add(51, kPrivate);
    for (const Digest& root : {open, hidden}) {
        const auto named = api->transact([&](db::Transaction& tx) {
            return name_dataset(tx, {.name = "zoo"}, root, address(1), kNow);
        });
        ASSERT_TRUE(named.ok()) << named.error().message;
    }
    const auto newest = [&](const Viewer& viewer) {
        return read(
            [&](db::Transaction& tx) { return get_dataset_version(tx, {.name = "zoo"}, viewer); });
    };
    EXPECT_EQ(newest(Viewer::account(address(1)))->version, 2U);
    EXPECT_EQ(newest(Viewer::account(address(2)))->version, 1U);
    ASSERT_TRUE(set_access(open, 1, kPrivate).ok());
    EXPECT_EQ(newest(Viewer::account(address(2))).error().message, "no dataset has the name zoo");
}

TEST_F(PrivateData, OnlyNodesWithATaskFetchPrivateText) {
    open_round_with_units();  // of a job on the fixture's text: nodes 1 to 8 work
    const Digest text = digest(2);
    EXPECT_TRUE(may_fetch(9, text)) << "public and free";
    hide_text();
    for (std::uint8_t node = 1; node <= 8; ++node)
        EXPECT_TRUE(may_fetch(node, text)) << int{node};
    EXPECT_FALSE(may_fetch(9, text)) << "registered, and without a task";
    EXPECT_FALSE(may_fetch(99, text)) << "not registered";
    EXPECT_FALSE(may_fetch(1, add(60, kPrivate))) << "of no job";
    EXPECT_FALSE(may_fetch(1, digest(1'060))) << "the text of a job that has no task";
    EXPECT_FALSE(may_fetch(1, digest(999))) << "nobody's";
}

TEST_F(PrivateData, WeightsOfAPrivateModelAreForItsNodesAndOfAPublicOneForAll) {
    open_round_with_units();
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(seal_round(tx, new_job().id, 1, digest(9), 0, kNow));
        GYM_CHECK(mark_posted(tx, new_job().id, 1, 1, {2, {}}));
        GYM_CHECK(set_beacon(tx, new_job().id, 1, digest(10)));
        const StateRef next{digest(11), digest(12)};
        return set_aggregated(tx, new_job().id, 1, {next, next, {}, {}, 1, digest(13)}, kNow);
    });
    // Base state and momentum, the next ones, and the update that makes them.
    const std::vector<Digest> blobs{digest(6), digest(8), digest(12), digest(13)};
    for (const Digest& blob : blobs) {
        EXPECT_TRUE(may_fetch(3, blob));
        EXPECT_FALSE(may_fetch(9, blob)) << "a model is private unless its owner says another";
    }
    const auto opened = api->transact([&](db::Transaction& tx) {
        return set_job_access(tx, new_job().id, address(1), {Visibility::kPublic, {}});
    });
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    for (const Digest& blob : blobs)
        EXPECT_TRUE(may_fetch(9, blob));
}

TEST_F(PrivateData, AVerifierFetchesFromItsDrawUntilTheWindowAfterTheUnit) {
    const std::vector<Digest> units = open_round_with_units();
    hide_text();
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(commit(tx, units[0]));
        GYM_CHECK(advance(tx, units[0], protocol::event::Drawn{true}, params, kNow));
        return set_verifier(tx, units[0], address(9));
    });
    EXPECT_TRUE(may_fetch(9, digest(2))) << "it is drawn";
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance(tx, units[0], protocol::event::Reported{}, params, kNow));
        GYM_CHECK(store_report(tx, units[0], 0, address(9), digest(20), kNow));
        GYM_CHECK(advance(tx, units[0], protocol::event::FaultProven{}, params, kNow + 100,
                          protocol::challenged({new_job().id, 1, 0, 0})));
        return {};
    });
    EXPECT_TRUE(may_fetch(9, digest(2), kNow + 100)) << "a challenger needs the text";
    EXPECT_FALSE(may_fetch(9, digest(2), kNow + 101)) << "its window is over";
    EXPECT_FALSE(may_fetch(1, digest(2), kNow + 101)) << "and the worker's";
    EXPECT_TRUE(may_fetch(2, digest(2), kNow + 101)) << "others still work";
}

TEST_F(PrivateData, AWorkerInAGameKeepsWhatItsUnitsNeed) {
    const std::vector<Digest> units = open_round_with_units();
    hide_text();
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance(tx, units[0], protocol::event::Voided{}, params, kNow + 100,
                          protocol::worker_excluded({new_job().id, 1, 0, 0})));
        return {};
    });
    EXPECT_FALSE(may_fetch(1, digest(2), kNow + 101));
    const auto played = database.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(tx.exec("INSERT INTO registry.game_watch VALUES ($1, 1, 1)", {address(70)}));
        GYM_CHECK(
            tx.exec("INSERT INTO registry.disputed_unit (contract, name, asserter, open_games, "
                    "is_faulty) VALUES ($1, $2, $3, 1, false)",
                    {address(70), digest(71), address(1)}));
        return {};
    });
    ASSERT_TRUE(played.ok()) << played.error().message;
    EXPECT_TRUE(may_fetch(1, digest(2), kNow + 101));
}

TEST_F(PrivateData, ATextWithAPriceIsForNodesWithATaskToo) {
    open_round_with_units();
    Dataset dataset = find(digest(1), Viewer::service()).value();
    dataset.root = digest(80);
    dataset.blob = digest(81);
    dataset.price_wei_per_mtoken = Amount(1);
    const Status added = api->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(register_dataset(tx, dataset));
        return {};
    });
    ASSERT_TRUE(added.ok()) << added.error().message;
    EXPECT_FALSE(may_fetch(1, digest(81))) << "nobody bought it";
}

TEST_F(PrivateData, AWorkersNewestUploadsAreKnown) {
    const auto has = [&](std::uint8_t worker, const Digest& root) {
        return *coordinator->transact(
            [&](db::Transaction& tx) { return has_uploaded(tx, address(worker), root); });
    };
    const auto send = [&](std::uint8_t worker, std::uint64_t n, UnixMs at) {
        run([&](db::Transaction& tx) { return note_upload(tx, address(worker), digest(n), at); });
    };
    send(1, 100, kNow);
    EXPECT_TRUE(has(1, digest(100)));
    EXPECT_FALSE(has(2, digest(100))) << "another worker's";
    for (std::uint32_t i = 1; i < kUploadsKept; ++i)
        send(1, 100 + i, kNow + i);
    send(1, 100, kNow + 100);  // again: it is among the newest
    send(1, 200, kNow + 101);
    EXPECT_TRUE(has(1, digest(100)));
    EXPECT_FALSE(has(1, digest(101)));
    EXPECT_TRUE(has(1, digest(102)));
    send(99, 100, kNow);
    EXPECT_FALSE(has(99, digest(100))) << "not registered";
}

TEST_F(PrivateData, RefusalsAreCounted) {
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(count_refused_blob(tx, address(9)));
        GYM_CHECK(count_refused_blob(tx, address(9)));
        return count_refused_blob(tx, address(99));
    });
    const auto row = database.owner().transact([&](db::Transaction& tx) {
        return tx.exec_one("SELECT refused_blobs FROM registry.node WHERE address = $1",
                           {address(9)});
    });
    EXPECT_EQ(row->get<std::uint64_t>(0), 2U);
}

TEST_F(PrivateData, TheDatabaseItselfKeepsTheRules) {
    const auto rewards = database.as("gym_rewards");
    const std::string open = "UPDATE registry.dataset SET visibility = 'public'";
    EXPECT_EQ(sql(*coordinator, open), ErrorCode::kPermissionDenied);
    EXPECT_EQ(sql(*rewards, open), ErrorCode::kPermissionDenied);
    EXPECT_EQ(sql(*api, "UPDATE registry.dataset SET name = 'other'"),
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(sql(*api, open), ErrorCode::kCancelled) << "it passes on what owners ask";
    EXPECT_NE(sql(*api, "UPDATE registry.dataset SET visibility = 'secret'"),
              ErrorCode::kCancelled);
    EXPECT_NE(sql(*api,
                  "UPDATE registry.dataset SET visibility = 'private', allowed = "
                  "ARRAY[decode(repeat('ab', 20), 'hex')]::registry.address[]"),
              ErrorCode::kCancelled)
        << "a list goes with allow-list alone";
    EXPECT_NE(
        sql(database.owner(), "UPDATE registry.dataset SET name = 'x', visibility = 'public'"),
        ErrorCode::kCancelled);
    EXPECT_EQ(sql(database.owner(),
                  "INSERT INTO registry.dataset (number, root, blob, owner, name, licence, tokens, "
                  "vocabulary, price_wei_per_mtoken, novelty_ppm, usefulness_ppm, sketch_level, "
                  "sketch_chunks, compared_tokens, registered_at_ms) SELECT 9, sha256('x'), blob, "
                  "owner, name, licence, tokens, vocabulary, 0, 0, 0, 0, 0, 0, 1 FROM "
                  "registry.dataset LIMIT 1"),
              ErrorCode::kCancelled);
    const auto row = database.owner().transact([](db::Transaction& tx) {
        return tx.exec_one("SELECT visibility FROM registry.dataset WHERE number = 9");
    });
    EXPECT_EQ(row->get<std::string>(0), "private") << "who says nothing publishes nothing";
}

}  // namespace
}  // namespace gym::registry::testing
