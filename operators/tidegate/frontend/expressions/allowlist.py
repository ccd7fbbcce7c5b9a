"""DuckDB's functions and operators that SQL may use, by name; by reason, all that are left out.

A function is allowed when its value follows from its arguments alone, and when no argument ends the
process, hangs it or fills its memory; where one could, `guards` has a bound. A function that
a new release of DuckDB adds is in neither table: a test names it, and until then it is refused.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

_GROUPS: Final = {
    "Numbers": """
        abs add binom bit_count cbrt ceil ceiling divide even exp factorial fdiv floor fmod gamma
        gcd greatest_common_divisor isfinite isinf isnan lcm least_common_multiple lgamma ln log
        log10 log2 mod multiply nextafter pi pow power round round_even roundbankers sign signbit
        sqrt subtract trunc xor
    """,
    "Trigonometry": """
        acos acosh asin asinh atan atan2 atanh cos cosh cot degrees radians sin sinh tan tanh
    """,
    "Texts": """
        ascii bar bit_length char_length character_length chr concat concat_ws contains ends_with
        format format_bytes formatreadabledecimalsize formatreadablesize instr lcase left
        left_grapheme len length length_grapheme lower lpad ltrim nfc_normalize octet_length ord
        overlay parse_formatted_bytes position prefix printf repeat replace reverse right
        right_grapheme rpad rtrim split split_part starts_with str_split string_split
        string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix
        translate trim ucase unicode upper
    """,
    "Regular expressions": """
        regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
        regexp_replace regexp_split_to_array str_split_regex string_split_regex
    """,
    "Similarity of texts": """
        damerau_levenshtein editdist3 hamming jaccard jaro_similarity jaro_winkler_similarity
        levenshtein mismatches
    """,
    "Encodings and digests": """
        base64 bin decode encode from_base64 from_binary from_hex hash hex md5 md5_number sha1
        sha256 to_base to_base64 to_binary to_hex unbin unhex url_decode url_encode
    """,
    "Paths": "parse_dirname parse_dirpath parse_filename parse_path path_join",
    "Times": """
        age century date_add date_diff date_part date_sub date_trunc datediff datepart datesub
        datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms
        epoch_ns epoch_us era hour isodow isoyear julian last_day make_date make_time make_timestamp
        make_timestamp_ms make_timestamptz microsecond millennium millisecond minute month monthname
        nanosecond quarter second strftime strptime time_bucket timezone timezone_hour
        timezone_minute try_strptime week weekday weekofyear year yearweek
    """,
    "Intervals": """
        normalized_interval to_centuries to_days to_decades to_hours to_microseconds to_millennia
        to_milliseconds to_minutes to_months to_quarters to_seconds to_weeks to_years
    """,
    "Choices": "coalesce greatest if ifnull least nullif typeof",
    "JSON": """
        array_to_json from_json from_json_strict json_array json_array_length json_contains
        json_deep_merge json_exists json_extract json_extract_path json_extract_path_text
        json_extract_string json_insert json_keys json_merge_patch json_merge_patch_diff
        json_normalize json_object json_quote json_remove json_replace json_set json_strip_nulls
        json_structure json_transform json_transform_strict json_type json_valid row_to_json to_json
    """,
    "Lists": """
        array_append array_cat array_concat array_contains array_distinct array_extract
        array_grade_up array_has array_has_all array_has_any array_indexof array_intersect
        array_length array_pop_back array_pop_front array_position array_prepend array_push_back
        array_push_front array_reverse array_reverse_sort array_select array_slice array_sort
        array_to_string array_unique array_where array_zip cardinality element_at flatten grade_up
        list_any_value list_append list_avg list_bit_and list_bit_or list_bit_xor list_bool_and
        list_bool_or list_cat list_concat list_contains list_cosine_distance list_cosine_similarity
        list_count list_distance list_distinct list_dot_product list_element list_entropy
        list_extract list_first list_grade_up list_has list_has_all list_has_any list_histogram
        list_indexof list_inner_product list_intersect list_kurtosis list_kurtosis_pop list_last
        list_mad list_max list_median list_min list_mode list_negative_dot_product
        list_negative_inner_product list_pack list_position list_prepend list_product list_reverse
        list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop
        list_stddev_samp list_string_agg list_sum list_unique list_value list_var_pop list_var_samp
        list_where list_zip
    """,
    "Maps and rows": """
        map map_concat map_contains map_contains_entry map_contains_value map_entries map_extract
        map_extract_value map_from_entries map_keys map_values struct_concat struct_extract
        struct_extract_at struct_keys struct_pack struct_values
    """,
}
GROUPS: Final = {title: tuple(sorted(names.split())) for title, names in _GROUPS.items()}
"""The allowed functions, by what they are about."""
FUNCTIONS: Final = frozenset().union(*GROUPS.values())

_REFUSED: Final = {
    "it reads the clock; cast PROC_TIME() instead": """
        ago current_date current_localtime current_localtimestamp current_time get_current_time
        get_current_timestamp localtime localtimestamp today
    """,
    "its value does not follow from the row alone": """
        .*_description current_catalog current_connection_id current_database current_query
        current_query_id current_role current_schema current_schemas current_setting
        current_transaction_id current_user currval gen_random_uuid get_block_size getenv
        getvariable has_.* in_search_path inet_.* nextval pg_.* random session_user setseed setval
        sleep_ms txid_current user uuid uuidv4 uuidv7 version
    """,
    "it reads files, or what DuckDB keeps about itself": """
        duckdb_.* glob hive_partition_component index_key json_deserialize_sql json_serialize_plan
        json_serialize_sql parquet_.* parse_duckdb_log_message query query_table read_.* sniff_csv
        stats write_log
    """,
    "it is a part of DuckDB's own machinery": """
        __.* alias array_to_string_comma_default assert_true bitstring_byte_comparable
        can_cast_implicitly cast_to_type collate_.* combine constant_or_null create_sort_key
        decimal_division equi_width_bins error finalize format_pg_type format_type get_type icu_.*
        ilike_escape is.distinct.from is.not.distinct.from is_histogram_other_bin json json_copy_.*
        like_escape make_type map_to_pg_oid md5_number_lower md5_number_upper not_ilike_escape
        not_like_escape remap_struct replace_type timetz_byte_comparable to_aggregate_state
        unpivot_list variant_.* vector_type
    """,
    "it works on a type that there is not here": """
        array_cosine_distance array_cosine_similarity array_cross_product array_distance
        array_dot_product array_inner_product array_negative_dot_product
        array_negative_inner_product array_value bit_position bitstring enum_.* get_bit
        make_timestamp_ns set_bit st_.* struct_contains struct_has struct_indexof struct_position
        union_.* uuid_extract_.* vertex_extract
    """,
    "it takes a function, which SQL here has not": """
        apply array_apply array_filter array_reduce array_transform filter invoke list_apply
        list_filter list_reduce list_transform reduce
    """,
    "it calls whatever function its argument names": """
        aggregate array_aggr array_aggregate list_aggr list_aggregate
    """,
    "it makes rows, or as many elements as a number says": """
        array_resize generate_series generate_subscripts list_resize range regexp_split_to_table
        unnest
    """,
    "its cost grows faster than its argument": "json_pretty",
    "CASE does the same": "switch",
    "write {'name': value}": "row struct_insert struct_update",
    "it is an aggregate, and those that there are have other names": """
        geomean geometric_mean json_group_array json_group_object json_group_structure
        list_approx_count_distinct wavg weighted_avg
    """,
}
REFUSED: Final = {reason: re.compile("|".join(names.split())) for reason, names in _REFUSED.items()}
"""Why functions are left out, and a pattern of their names."""

NODES: Final = frozenset(
    {exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.Null, exp.Boolean, exp.Literal}
    | {exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ}
    | {exp.Between, exp.In, exp.Case, exp.If, exp.Cast, exp.TryCast}
    | {exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg, exp.DPipe}
    | {exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseNot, exp.BitwiseXor}
    | {exp.BitwiseLeftShift, exp.BitwiseRightShift}
    | {exp.Like, exp.ILike, exp.Escape, exp.SimilarTo, exp.RegexpLike, exp.RegexpILike}
    | {exp.StartsWith, exp.ByteString, exp.Extract, exp.Trim, exp.Substring, exp.StrPosition}
    | {exp.Interval, exp.AtTimeZone, exp.JSONExtract, exp.JSONExtractScalar, exp.ParseJSON}
    | {exp.JSONPath, exp.JSONPathRoot, exp.JSONPathKey, exp.JSONPathSubscript}
    | {exp.Array, exp.Struct, exp.PropertyEQ, exp.Bracket, exp.Slice, exp.Tuple}
    | {exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps}
)
"""The operators and forms of SQL that are no calls, as sqlglot has them."""


def refusal(name: str) -> str | None:
    """Why a function may not be called; None where it may, or where nothing is known of it."""
    if name in FUNCTIONS:
        return None
    return next((reason for reason, names in REFUSED.items() if names.fullmatch(name)), None)
