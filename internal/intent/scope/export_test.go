package scope

// CachedRevision is the revision at which a scope was read last; 0: it was not.
func (s *Service) CachedRevision(key Key, planID string) int64 {
	if state := s.cache.get(key.ID() + "/" + planID); state != nil {
		return state.Revision
	}
	return 0
}
