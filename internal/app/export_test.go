package app

// MasterKeyIn finds or makes the key of a data folder.
var MasterKeyIn = masterKeyIn
