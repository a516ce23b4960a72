"""One function that finds a member of a family by its number."""

from jellycage.toolkit.compile_kernels import njit_as, njit_forwarding


def chosen(functions, name, first=0):
    """The function f(number, *arguments) that calls the one of `functions` in that place.

    Made of one function per member, each of which passes on what is not its own. name: of the family, and no other.
    """
    function, others = functions[0], functions[1:]
    if all(other is function for other in others):

        @njit_as(f"{name}_{first}", njit_forwarding)
        def choose(number, *arguments):
            return function(*arguments)

    else:
        rest = chosen(others, name, first + 1)

        @njit_as(f"{name}_{first}", njit_forwarding)
        def choose(number, *arguments):
            if number == first:
                return function(*arguments)
            return rest(number, *arguments)

    return choose
