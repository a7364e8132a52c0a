"""Tables of users: reading CSV and Parquet files as people write them."""
