"""Whether two things are equal, decided without the rules: index terms, rules, operations, values of programs."""
