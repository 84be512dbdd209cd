package telemetry

// ArrivalQuery finds what arrived.
const ArrivalQuery = arrivalQuery
