package observability

// LandingQuery finds what arrived.
const LandingQuery = landingQuery
