"""What was once silently wrong, crashed or hung, and which test by name holds that it does not.

One line for each promise, in words, with the tests that would fail were it broken. A test that is
renamed or moved takes its line along: what is named here has to be there.
"""

import ast
import functools
from pathlib import Path

import pytest

HERE = Path(__file__).parent

WRONG = {
    "a mask has the length of its axis": """
        ops/test_mask_lengths.py test_known_masks test_traced_masks test_a_mask_of_the_facade
        test_a_wrong_length_is_seen_before_a_mask_that_is_not_known
        traps/test_trap_choices.py test_trap_34_masks_of_the_wrong_length""",
    "orders A and K, and views or copies, go by strides": """
        transforms/test_layouts.py test_ravel_in_memory_order test_strides_and_flags
        test_a_reshape_in_fortran_order_is_a_view_of_a_vector
        test_a_reshape_of_a_new_grid_is_a_view test_each_layout_decides_anew
        test_bytes_in_memory_order
        traps/test_trap_memory.py
        test_trap_35_memory_layouts_and_scalars
        test_augmented_assignment_reaches_every_alias""",
    "scalars of NumPy are no arrays without axes": """
        transforms/test_layouts.py test_what_is_seen_of_a_scalar_is_a_copy
        test_a_where_of_scalars_can_be_written_into
        test_an_argument_without_axes_and_a_scalar test_each_example_of_a_vector_is_a_scalar""",
    "no capture is stale in silence, in jit": """
        transforms/test_capture_warnings.py test_a_change_is_seen
        test_what_cannot_be_followed_is_said_once_with_the_line test_the_setting
        test_ordinary_programs_warn_nowhere
        transforms/test_captures.py test_what_changed_is_seen
        transforms/test_walk.py test_other_ways_to_a_number_are_followed
        test_operators_of_objects_are_followed
        transforms/test_readings.py test_every_call_has_its_own_time
        test_a_file_that_is_read_is_told_once
        test_random_captures.py test_a_compiled_function_is_never_stale""",
    "no capture is stale in silence, in the facade's compile": """
        facade/test_compile_captures.py test_a_change_is_seen
        test_what_cannot_be_followed_runs_eagerly test_a_step_that_reads_a_file_runs_eagerly
        test_a_step_that_asks_for_numpys_settings_runs_eagerly""",
    "orders of dictionaries and keyword arguments count": """
        transforms/test_order_of_arguments.py test_the_order_of_a_dictionary
        test_the_order_of_keyword_arguments test_the_order_within_other_containers
        test_the_facade_sees_orders
        traps/test_trap_memory.py test_trap_36_order_of_dictionaries_and_keywords""",
    "traced values are no keys": """
        transforms/test_copies_and_keys.py test_a_traced_value_is_no_key
        test_a_list_compares_by_value
        traps/test_trap_memory.py test_trap_36_sets_and_dictionaries_keyed_by_traced_values""",
    "operations are told by their records, not by their names": """
        test_names_of_primitives.py test_operations_of_one_operand_with_the_names_of_ours
        test_operations_of_two_operands_with_the_names_of_ours
        test_linear_operations_with_the_names_of_ours
        test_multilinear_operations_with_the_names_of_ours
        test_operations_that_state_a_vjp_with_the_names_of_ours
        test_what_has_no_native_form_is_refused_by_njit_under_any_name
        test_a_compiled_function_with_the_name_of_ours
        test_an_operation_is_linear_by_its_partials_not_by_its_name
        test_equal_operations_of_one_name_are_not_merged
        kernels/test_scalar_bodies.py test_a_primitive_of_the_same_name_gets_no_kernel""",
    "copies of traced values keep their tangents and write into no original": """
        transforms/test_copies_and_keys.py test_a_copy_is_followed
        test_writing_into_a_copy_leaves_the_original test_a_traced_value_is_not_pickled
        test_a_copy_does_not_outlive_its_transform""",
    "value under vmap is an error, and examples share no draw": """
        transforms/test_copies_and_keys.py test_there_is_no_number_under_vmap
        transforms/test_randomness.py test_a_draw_is_an_error
        traps/test_trap_levels.py test_trap_28_randomness_that_all_examples_would_share""",
    "custom rules get keywords, and residuals that change are noticed": """
        transforms/test_custom.py test_arguments_given_by_name_reach_the_function_and_its_rule
        test_a_residual_that_is_a_captured_array_and_changes""",
    "rules of users may be any callable and read what changes": """
        transforms/test_hot_rules.py test_a_rule_of_any_kind_of_callable
        test_a_rule_that_reads_a_global_reads_it_every_time
        test_a_rule_that_reads_what_changes_in_its_closure_or_object_reads_it_every_time
        test_compiled_functions_follow_what_rules_read_and_nothing_else
        transforms/test_changing_captures.py
        test_rules_of_the_users_that_read_what_changes_are_not_taken_from_before""",
    "complex branches, signs and modes": """
        ops/test_singular_points.py test_arccosh_is_differentiated_on_its_own_branch
        test_the_sign_of_a_complex_number_is_no_constant
        test_the_mode_of_a_complex_jacobian_does_not_depend_on_sizes
        ops/test_complex_points.py test_values_are_numpys_and_the_modes_agree
        test_both_sides_of_branch_cuts""",
    "equal eigenvalues and singular values": """
        ops/test_singular_points.py test_values_that_coincide_are_exact
        test_vectors_of_values_that_coincide_have_no_derivative
        ops/test_equal_eigenvalues.py test_second_derivatives
        test_what_is_not_known_is_nan
        test_reverse_over_reverse_is_nan_there_and_exact_elsewhere
        ops/test_equal_singular_values.py test_second_derivatives test_what_is_not_known_is_nan""",
    "zero times infinity is NaN, and what was not taken is absent": """
        transforms/test_absent.py test_the_number_zero_times_infinity_is_nan
        test_what_was_not_taken_is_absent test_elements_that_are_not_read_are_absent
        test_hessians_of_masked_branches_agree test_hessians_of_cond_under_vmap_agree
        test_every_way_gives_the_same test_every_way_gives_the_same_to_second_order
        facade/test_func_singular.py test_zero_times_infinity
        ops/test_singular_points.py test_the_deviation_of_equal_numbers
        test_the_hessian_of_a_power_is_symmetric_where_base_or_exponent_is_zero
        traps/test_trap_points.py test_trap_01_the_number_zero_times_infinity_is_nan
        test_trap_38_second_order_through_masked_branches""",
    "rounding, and arithmetic of Python's truth values": """
        transforms/test_rounded_numbers.py test_floats_as_python_rounds_them
        test_integers_as_python_rounds_them
        transforms/test_python_bools.py test_arithmetic_of_bools test_inversion_of_bools""",
    "dtypes and bits of ediff1d, modf and take; tangents of integers": """
        numpy/test_dtypes_of_results.py test_modf_of_whole_numbers_is_floating_point
        test_ends_of_differences_take_their_dtype
        test_sums_of_taken_elements_have_the_bits_of_numpy
        transforms/test_api.py test_integers_have_tangents_without_content""",
}

CRASHES = {
    "scratch memory is bounded on every stack": """
        compile/test_scratch.py test_many_rows_of_scratch_overflow_no_stack
        test_random_rows_of_scratch_in_a_small_stack
        kernels/test_no_threads.py test_threads_have_a_stated_stack""",
    "neither the end of a process nor a fork waits for the compiler": """
        compile/test_abandoned.py test_the_end_of_the_process_leaves_it_alone
        test_a_fork_does_not_wait_for_it test_the_other_process_ends_with_this_one
        compile/test_tiering.py test_a_fork_meanwhile""",
    "handlers of signals and finalizers may compute gradients": """
        kernels/test_interrupted.py test_a_handler_computes_gradients
        test_finalizers_compute_gradients
        test_a_handler_calls_compiled_functions_while_one_is_compiled""",
    "where threads cannot be made the caller does the work": """
        kernels/test_no_threads.py test_gradients_where_no_thread_can_be_made
        test_python_threads_that_cannot_be_made test_an_exception_ends_the_pieces_of_others
        compile/test_pool.py test_ctrl_c_ends_a_run_between_chunks""",
    "arrays of objects that NumPy makes are right, or an error of ours": """
        numpy/test_object_arrays.py test_it_works test_it_is_an_error_of_ours
        test_a_search_in_an_array_of_abstract_objects
        test_writes_into_what_numpy_made_reach_the_array_or_are_refused""",
    "shifts, i0, and every kind of integer as an option": """
        transforms/test_kinds_of_integers.py test_every_kind_of_integer
        test_what_is_no_integer test_bits_of_traced_integers
        test_i0_has_numpys_value_and_a_derivative
        ops/test_mask_lengths.py test_an_index_out_of_bounds_is_named_as_numpy_names_it""",
    "misspelt settings and variables are refused": """
        test_config.py test_a_wrong_value test_a_wrong_name test_a_wrong_value_of_a_variable
        test_a_variable_that_is_no_setting""",
    "a cell of a notebook may run twice, a container hold itself": """
        test_extend.py test_a_cell_of_a_notebook_that_is_run_twice
        test_names_of_primitives.py test_a_primitive_that_is_defined_again_is_another_one
        transforms/test_order_of_arguments.py test_a_container_in_itself_is_no_tree
        numpy/test_stores_and_casts.py test_a_list_that_holds_itself_is_refused""",
    "newer Pythons: garbage, methods, foreign arrays, splines": """
        facade/test_garbage.py test_no_garbage
        transforms/test_callables.py test_methods_of_classes
        transforms/test_foreign_arrays.py test_what_only_holds_numbers_is_taken
        transforms/test_walk.py test_other_ways_to_a_number_are_followed""",
    "a Numba or llvmlite that is not known is probed, and done without": """
        compile/test_private_numba.py test_the_numba_at_hand_is_known
        test_what_numba_does_not_tell_is_not_known test_kernels_are_not_built
        compile/test_tiering.py test_modules_are_made_where_llvmlite_is_not_as_we_know_it
        compile/test_without_llvmlite.py test_gradients_run_in_numpy_and_jit_names_it""",
}

CLOCK = {
    "the same bits from the first call to the last, in all processes": """
        kernels/test_default.py
        test_the_next_processes_have_the_bits_of_this_one_from_the_first_call_on
        kernels/test_kept_kernels.py test_a_process_takes_a_kernel_once_and_for_all
        test_a_process_apart_builds_what_was_asked_for
        traps/test_trap_process.py
        test_trap_39_the_same_bits_from_first_call_to_last_and_for_any_number_of_threads
        test_trap_39_the_same_bits_from_process_to_process
        facade/test_flat.py test_the_same_bits_from_the_first_call_on""",
    "what is kept of Numba's is sealed": """
        kernels/test_kept_kernels.py test_whatever_is_damaged_is_built_again
        compile/test_njit_stored.py
        test_a_second_process_finds_them_and_a_damaged_one_is_made_again""",
    "edits of the same size and time are seen": """
        compile/test_sources.py test_an_edit_of_the_same_size_and_time_is_seen
        test_the_content_counts_and_not_the_place""",
    "without a place on disk all works, and no odd folder appears": """
        compile/test_no_place.py test_without_a_home_no_folder_appears
        test_a_cache_that_cannot_be_written test_a_disk_that_is_full
        test_folders_are_private_whatever_the_mask_of_new_files
        test_functions_for_numba_without_a_place_for_their_code""",
    "files of tensors ask for little and raise what is documented": """
        facade/test_loading.py test_a_small_file_does_not_ask_for_much_memory
        test_damaged_archives_raise_what_is_documented
        test_damaged_pickles_raise_what_is_documented""",
    "captures that change cost no compilation": """
        transforms/test_changing_captures.py
        test_what_changes_at_each_call_is_compiled_twice_at_most
        transforms/test_captured_content.py test_a_change_of_the_content_is_seen
        test_an_unchanged_large_array_is_traced_once
        compile/test_kept_programs.py
        test_captures_that_change_are_no_reason_to_compile_in_the_next_process
        facade/test_compile_captures.py
        test_a_number_and_an_array_that_change_at_each_call_are_compiled_twice_at_most""",
    "graphs of batches are bounded": """
        transforms/test_graphs_of_batches.py test_as_many_are_kept_as_are_used_by_turns""",
}

PROMISES = {**WRONG, **CRASHES, **CLOCK}


@functools.cache
def names_in(file):
    """The names of the test functions of a file."""
    tree = ast.parse((HERE / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_is_held_by_tests_that_are_there(promise):
    file, held = None, 0
    for word in PROMISES[promise].split():
        if word.endswith(".py"):
            file = word
            assert (HERE / file).exists(), file
        else:
            assert word in names_in(file), f"{file} has no {word}"
            held += 1
    assert held
