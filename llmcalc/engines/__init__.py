"""Operations become numbers here: one file, one question."""
