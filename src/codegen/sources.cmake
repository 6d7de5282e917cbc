set(SOURCES
  analysis.cpp cost_model.cpp division.cpp emit.cpp emit_column_packs.cpp emit_contract.cpp emit_families.cpp
  emit_group.cpp emit_inner_outer.cpp emit_loop.cpp emit_packs.cpp emit_row_packs.cpp emit_tiles.cpp emitter.cpp
  index_width.cpp inner_outer.cpp machine_constants.cpp occupancy.cpp packed_accesses.cpp
  routine.cpp schedule.cpp schedule_column.cpp schedule_overrides.cpp schedule_pointwise.cpp schedule_row.cpp
  schedule_split.cpp schedule_tiles.cpp spelling.cpp stage_groups.cpp state_size.cpp
  standalone.cpp variant.cpp variant_choices.cpp)
