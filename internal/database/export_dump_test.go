package database

// PostgresSettings are the variables for PostgreSQL's own programs.
var PostgresSettings = postgresSettings
