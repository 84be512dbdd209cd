package database

// OrdinaryQueue is how many ordinary changes may wait.
const OrdinaryQueue = ordinaryQueue

// Queued is how many changes wait for the committer.
func Queued(db *DB) int { return len(db.writer.urgent) + len(db.writer.ordinary) }

// Migrations for tests with steps of their own.
var (
	Embedded       = embedded
	LoadMigrations = loadMigrations
	Migrate        = (*DB).migrate
)
