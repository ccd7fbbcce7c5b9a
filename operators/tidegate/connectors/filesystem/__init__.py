"""Directories of files: json lines, csv, parquet; read in name order, written by rename."""
