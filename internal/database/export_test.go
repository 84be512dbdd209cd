package database

// OrdinaryQueue is how many ordinary changes may wait.
const OrdinaryQueue = ordinaryQueue

// ChangeLimit is how long a change may take.
const ChangeLimit = changeLimit

// Migrations for tests with steps of their own.
var (
	Embedded       = embedded
	LoadMigrations = loadMigrations
	Migrate        = (*DB).migrate
)
