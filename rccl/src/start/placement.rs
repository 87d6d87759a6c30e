//! The position of a rank among the others, from the launcher's variables.

use super::Error;

/// The position of a rank among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The rank.
    pub rank: usize,
    /// Number of ranks.
    pub size: usize,
    /// The rank among those of its host.
    pub local_rank: usize,
    /// The hub's host and port.
    pub hub: String,
}

/// The usual port of distributed programs, as the default.
const PORT: u16 = 29500;

/// A launcher's variables: rank, number of ranks, rank on the host.
const LAUNCHERS: [[&str; 3]; 4] = [
    ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
    ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"],
    ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"],
];

fn number(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<usize, Error> {
    let value = variable(name);
    match value.as_deref().map(str::parse) {
        Some(Ok(number)) => Ok(number),
        Some(Err(_)) => Err(Error::environment(name, value, "a number")),
        None => Err(Error::environment(name, None, "the launcher is to set it")),
    }
}

impl Placement {
    /// Returns whether these are Slurm's own numbers, under the names of MPICH's launcher: `srun --mpi=pmi2` sets both.
    /// Under MPICH's launcher, in a Slurm job, Slurm's numbers are those of the launcher's helpers, one per node.
    fn are_of_slurm(variable: &dyn Fn(&str) -> Option<String>) -> bool {
        let same = |ours: &str, theirs: &[&str]| {
            let theirs = theirs.iter().find_map(|name| variable(name));
            theirs.is_some() && variable(ours) == theirs
        };
        same("PMI_RANK", &["SLURM_PROCID"]) && same("PMI_SIZE", &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"])
    }

    /// Reads the variables. The first launcher whose rank variable is set is used.
    pub(crate) fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let set =
            |[rank, ..]: &[&str; 3]| variable(rank).is_some() && (*rank != "PMI_RANK" || !Self::are_of_slurm(variable));
        let Some([rank, size, local]) = LAUNCHERS.into_iter().find(set) else {
            let needed = "no launcher has set it, nor SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK (start the \
                          program with `rccl-run -n 4 -- PROGRAM`)";
            return Err(Error::environment("RANK", None, needed));
        };
        // A step may have fewer tasks than its job.
        let of_step = size == "SLURM_NTASKS" && variable("SLURM_STEP_NUM_TASKS").is_some();
        let size = if of_step { "SLURM_STEP_NUM_TASKS" } else { size };
        let (number_of_ranks, size_name) = (number(variable, size)?, size);
        let (own, rank_name) = (number(variable, rank)?, rank);
        if number_of_ranks == 0 {
            return Err(Error::environment(size_name, Some("0".to_owned()), "at least 1"));
        }
        if own >= number_of_ranks {
            let needed = format!("less than {number_of_ranks}, which {size_name} is");
            return Err(Error::environment(rank_name, Some(own.to_string()), needed));
        }
        // Some launchers do not set it for programs on one host.
        let local_rank = if variable(local).is_some() { number(variable, local)? } else { own };
        let port = port(variable)?;
        let host = match variable("MASTER_ADDR") {
            Some(host) => host,
            None => match variable("SLURM_STEP_NODELIST").or_else(|| variable("SLURM_JOB_NODELIST")) {
                Some(nodes) if rank_name == "SLURM_PROCID" => first_node(&nodes)?,
                _ if number_of_ranks == 1 => "127.0.0.1".to_owned(),
                _ => {
                    let needed = "the name or address of rank 0's host is needed";
                    return Err(Error::environment("MASTER_ADDR", None, needed));
                }
            },
        };
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
        Ok(Self { rank: own, size: number_of_ranks, local_rank, hub: format!("{host}:{port}") })
    }
}

fn port(variable: &dyn Fn(&str) -> Option<String>) -> Result<u16, Error> {
    if let Some(text) = variable("MASTER_PORT") {
        return match text.parse() {
            Ok(port) if port != 0 => Ok(port),
            _ => Err(Error::environment("MASTER_PORT", Some(text), "a port from 1 to 65535")),
        };
    }
    // Jobs that share a node use different ports.
    let job = variable("SLURM_JOB_ID").and_then(|job| job.parse::<u32>().ok());
    Ok(job.map_or(PORT, |job| 20_000 + (job % 20_000) as u16))
}

/// Returns the first node of Slurm's list: `gpu[003-007,012],cpu1` begins with `gpu003`.
fn first_node(nodes: &str) -> Result<String, Error> {
    let wrong = || Error::environment("SLURM_JOB_NODELIST", Some(nodes.to_owned()), "a list of nodes");
    let (before, rest) = match nodes.find(['[', ',']) {
        Some(at) if nodes.as_bytes()[at] == b'[' => (&nodes[..at], &nodes[at + 1..]),
        Some(at) => (&nodes[..at], ""),
        None => (nodes, ""),
    };
    if rest.is_empty() {
        return if before.is_empty() { Err(wrong()) } else { Ok(before.to_owned()) };
    }
    let (inside, after) = rest.split_once(']').ok_or_else(wrong)?;
    let first = inside.split([',', '-']).next().filter(|first| !first.is_empty()).ok_or_else(wrong)?;
    // Text after the brackets belongs to the name, up to the next one.
    let after = after.split(',').next().unwrap_or("");
    if after.contains('[') {
        return Err(wrong());
    }
    Ok(format!("{before}{first}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Placement, Error> {
        Placement::from_variables(&|name| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_launcher_is_understood() {
        let placement = |rank, local_rank, hub: &str| Placement { rank, size: 8, local_rank, hub: hub.to_owned() };
        let master = [("MASTER_ADDR", "head"), ("MASTER_PORT", "1234")];
        let with = |mine: &[(&'static str, &'static str)]| of(&[mine, &master].concat()).unwrap();
        let torch = [("RANK", "5"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1")];
        assert_eq!(with(&torch), placement(5, 1, "head:1234"));
        let ompi = [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "8"), ("OMPI_COMM_WORLD_LOCAL_RANK", "0")];
        assert_eq!(with(&ompi), placement(3, 0, "head:1234"));
        assert_eq!(with(&[("PMI_RANK", "2"), ("PMI_SIZE", "8")]), placement(2, 2, "head:1234"));
        let slurm = [
            ("SLURM_PROCID", "7"),
            ("SLURM_NTASKS", "8"),
            ("SLURM_LOCALID", "3"),
            ("SLURM_JOB_NODELIST", "gpu[003-007,012],cpu1"),
            ("SLURM_JOB_ID", "4000123"),
        ];
        assert_eq!(of(&slurm).unwrap(), placement(7, 3, "gpu003:20123"));
        assert!(of(&[&slurm[..], &torch].concat()).unwrap_err().to_string().contains("MASTER_ADDR"));
        assert_eq!(of(&[("RANK", "0"), ("WORLD_SIZE", "1")]).unwrap().hub, "127.0.0.1:29500");
        let six = of(&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "fe80::1")]).unwrap();
        assert_eq!(six.hub, "[fe80::1]:29500");
    }

    #[test]
    fn numbers_of_slurm_count_under_every_name() {
        // `srun -n 4 --mpi=pmi2` in a job of 16 tasks.
        let step = [
            ("SLURM_PROCID", "3"),
            ("SLURM_NTASKS", "16"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_JOB_NODELIST", "node[01-03,7]"),
            ("SLURM_STEP_NODELIST", "node[02-03]"),
            ("SLURM_JOB_ID", "17"),
        ];
        let expected = Placement { rank: 3, size: 4, local_rank: 1, hub: "node02:20017".to_owned() };
        assert_eq!(of(&step).unwrap(), expected);
        let pmi = [("PMI_RANK", "3"), ("PMI_SIZE", "4")];
        assert_eq!(of(&[&step[..], &pmi].concat()).unwrap(), expected);
        // MPICH's launcher has started 8 ranks, with one helper per node.
        let hydra = [("PMI_RANK", "6"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "2"), ("MASTER_ADDR", "node02")];
        let found = of(&[&step[..], &hydra].concat()).unwrap();
        assert_eq!((found.rank, found.size, found.local_rank), (6, 8, 2));
    }

    #[test]
    fn wrong_variables_are_named() {
        let says = |variables: &[(&str, &str)], words: [&str; 2]| {
            let text = of(variables).unwrap_err().to_string();
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        };
        says(&[], ["RANK", "rccl-run"]);
        says(&[("RANK", "x"), ("WORLD_SIZE", "2")], ["RANK", "\"x\""]);
        says(&[("RANK", "1")], ["WORLD_SIZE", "not set"]);
        says(&[("RANK", "2"), ("WORLD_SIZE", "2")], ["RANK", "less than 2"]);
        says(&[("RANK", "0"), ("WORLD_SIZE", "0")], ["WORLD_SIZE", "at least 1"]);
        says(&[("RANK", "0"), ("WORLD_SIZE", "2")], ["MASTER_ADDR", "not set"]);
        let port = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "70000")];
        says(&port, ["MASTER_PORT", "70000"]);
    }

    #[test]
    fn the_first_node_of_slurms_lists_is_found() {
        let first = |nodes| first_node(nodes).ok();
        assert_eq!(first("n1").as_deref(), Some("n1"));
        assert_eq!(first("n1,n2").as_deref(), Some("n1"));
        assert_eq!(first("n[08-11]").as_deref(), Some("n08"));
        assert_eq!(first("node[01-03,7]").as_deref(), Some("node01"));
        assert_eq!(first("gnode[10,20,25,37]").as_deref(), Some("gnode10"));
        assert_eq!(first("login-2,node[1-4],big7").as_deref(), Some("login-2"));
        assert_eq!(first("n[5,9]-ib,m2").as_deref(), Some("n5-ib"));
        assert_eq!(first("n[8").as_deref(), None);
        assert_eq!(first("r[1-2]n[3-4]"), None);
        assert_eq!(first(""), None);
    }
}
