"""The live index: an embedded database of base codes whose live codes follow what is learnt."""
