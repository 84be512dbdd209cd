package telemetry

// LandingQuery finds what arrived.
const LandingQuery = landingQuery
