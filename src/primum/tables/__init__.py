"""Tables of users: CSV, Parquet and spreadsheets as people write them."""
