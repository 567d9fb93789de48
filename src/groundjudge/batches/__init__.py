"""Provider batches: requests sent as files, at half price, and answered within a day."""
