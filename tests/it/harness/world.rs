//! Where a case takes place: a directory and a database of its own.

use super::database::Database;
use super::launch::Launch;
use super::postgres::Cluster;
use super::server::Server;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// No case takes longer, or something hangs.
const CASE_MAX: Duration = Duration::from_secs(120);

/// The databases that every case is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file.
    Sqlite,
    /// A database in a cluster of the tests'.
    Postgres,
}

/// A directory and a database.
pub struct World {
    /// On what the case runs.
    pub engine: Engine,
    /// The database.
    pub database: Database,
    /// The cluster that the database is in.
    pub cluster: Option<Arc<Cluster>>,
    directory: TempDir,
}

impl World {
    /// A new one, on PostgreSQL in the cluster that all share.
    pub async fn new(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => {
                let directory = tempfile::tempdir().expect("a directory");
                let database = Database::Sqlite(directory.path().join("data/posthouse.db"));
                Self { engine, database, cluster: None, directory }
            }
            Engine::Postgres => Self::within(Cluster::shared()).await,
        }
    }

    /// A new one on PostgreSQL, in this cluster.
    pub async fn within(cluster: Arc<Cluster>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let database = Database::Postgres(cluster.create_database().await);
        Self { engine: Engine::Postgres, database, cluster: Some(cluster), directory }
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into its directory; the path.
    pub fn file(&self, name: &str, contents: &str) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, contents).expect("the file is written");
        path.display().to_string()
    }

    /// The program with a configuration, not started yet.
    pub fn posthouse(&self, config: &str) -> Launch {
        Launch::new(self, config)
    }

    /// A server with a configuration, ready to receive.
    pub async fn serve(&self, config: &str) -> Server {
        self.posthouse(config).serve().await
    }
}

/// Runs a case on a database.
pub fn run(engine: Engine, case: impl AsyncFnOnce(World)) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let case = async { case(World::new(engine).await).await };
        tokio::time::timeout(CASE_MAX, case).await.expect("the case ends in time");
    });
}

/// A case that must hold on both databases: two tests, `name::sqlite` and `name::postgres`.
macro_rules! both {
    ($name:ident, |$world:ident| async $body:block) => {
        mod $name {
            use super::*;

            async fn case($world: World) $body

            #[test]
            fn sqlite() {
                run(Engine::Sqlite, case);
            }

            #[test]
            fn postgres() {
                run(Engine::Postgres, case);
            }
        }
    };
}
pub(crate) use both;
