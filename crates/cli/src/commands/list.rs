//! `ccctl list`

use ccctl_loader::{
    available_algorithms, count_sockets, current_default, other_bpf_algorithms, Instance, SocketCounts,
};
use serde_json::{json, Value};

use crate::arguments::Output;
use crate::exit::Exit;
use crate::output;

struct Listing {
    default: String,
    instances: Vec<Instance>,
    others: Vec<ccctl_loader::OtherAlgorithm>,
    built_in: Vec<String>,
    counts: SocketCounts,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let listing = Listing::read()?;
    if arguments.json {
        listing.print_json()?;
    } else {
        listing.print()?;
    }
    Ok(Exit::Done)
}

impl Listing {
    fn read() -> anyhow::Result<Self> {
        let available = available_algorithms()?;
        let instances = Instance::all()?;
        let others = other_bpf_algorithms(&available, &instances)?;
        let is_bpf = |name: &String| {
            instances.iter().any(|instance| instance.name == *name) || others.iter().any(|other| other.name == *name)
        };
        let built_in = available.iter().filter(|name| !is_bpf(name)).cloned().collect();
        Ok(Self { default: current_default()?, counts: count_sockets("")?, instances, others, built_in })
    }

    fn print_json(&self) -> anyhow::Result<()> {
        let common = |name: &str| json!({ "name": name, "sockets": self.counts.of(name).sockets, "is_default": self.default == name });
        let instances = self.instances.iter().map(|instance| {
            let mut entry = common(&instance.name);
            entry["algorithm"] = json!(instance.identity.algorithm);
            entry["profile"] = json!(instance.identity.profile);
            entry["map_id"] = json!(instance.map_id);
            entry["loaded_at"] = json!(output::time(instance.loaded_at));
            entry["sockets_on_old_program"] = json!(self.old_sockets(instance));
            entry
        });
        let others = self.others.iter().map(|other| {
            let mut entry = common(&other.name);
            entry["map_id"] = json!(other.map_id);
            entry
        });
        output::json(&json!({
            "default": self.default,
            "instances": instances.collect::<Vec<Value>>(),
            "built_in": self.built_in.iter().map(|name| common(name)).collect::<Vec<Value>>(),
            "others": others.collect::<Vec<Value>>(),
            "unreadable": self.counts.unreadable,
        }))
    }

    fn old_sockets(&self, instance: &Instance) -> usize {
        self.counts.of(&instance.name).on_other_map(instance.map_id)
    }

    fn print(&self) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        for instance in &self.instances {
            let old = self.old_sockets(instance);
            let sockets = self.counts.of(&instance.name).sockets;
            let sockets = if old > 0 { format!("{sockets} ({old} on the old program)") } else { sockets.to_string() };
            let parameters = output::changed_parameters(&instance.parameters);
            rows.push(self.row(
                &instance.name,
                &instance.identity.algorithm,
                sockets,
                output::age(instance.loaded_at),
                parameters,
            ));
        }
        for other in &self.others {
            rows.push(self.row(
                &other.name,
                "BPF, not loaded by ccctl",
                self.sockets(&other.name),
                String::new(),
                String::new(),
            ));
        }
        for name in &self.built_in {
            rows.push(self.row(name, "built into the kernel", self.sockets(name), String::new(), String::new()));
        }
        output::table(&["NAME", "ALGORITHM", "SOCKETS", "AGE", "PARAMETERS", ""], rows)?;
        for reason in &self.counts.unreadable {
            output::line(&format!("not counted: {reason}"))?;
        }
        Ok(())
    }

    fn sockets(&self, name: &str) -> String {
        self.counts.of(name).sockets.to_string()
    }

    fn row(&self, name: &str, algorithm: &str, sockets: String, age: String, parameters: String) -> Vec<String> {
        let default = if self.default == name { "default" } else { "" };
        vec![name.to_owned(), algorithm.to_owned(), sockets, age, parameters, default.to_owned()]
    }
}
