// SPDX-License-Identifier: GPL-2.0-only
//! Random scenarios: none may crash, hang, lose or make packets. The fuzzer looks further (`scripts/fuzz simulation`).

use std::sync::Arc;

use ccctl_sim::Instance;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn no_scenario_is_inconsistent(bytes in prop::collection::vec(any::<u8>(), 50..600)) {
        let instances: Vec<Arc<Instance>> =
            ccctl_catalog::algorithms().iter().map(|algorithm| crate::instance(algorithm.name())).collect();
        super::random_network::run(&bytes, &instances);
    }
}
